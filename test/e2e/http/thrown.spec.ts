import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  Inject,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  LimiterUnavailableError,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { type AppSettings, type HttpApp, left, limitHeaders, PLATFORMS, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';
import { ToldStore } from '../../support/told-store.js';

const POLICY = { algorithm: 'token-bucket', capacity: 2, refill: '1/m' } as const;
const ADA = { kind: 'user', value: 'ada' };

@Injectable()
class Mails {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  async send(): Promise<string> {
    const decision = await this.limiter.consume('mails', ADA);
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    return 'sent';
  }
}

@Controller()
class Routes {
  constructor(@Inject(Mails) private readonly mails: Mails) {}

  @Get('own')
  @SkipRateLimit()
  own(): Promise<string> {
    return this.mails.send();
  }

  /** The guard limits this route, and so does the handler by an exception of its own. */
  @Get('both')
  @RateLimit({ ...POLICY, name: 'route', capacity: 1 })
  both(): Promise<string> {
    return this.mails.send();
  }

  @Get('free')
  free(): void {}
}

@Module({})
class BeforeRoutes {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  configure(consumer: MiddlewareConsumer): void {
    const limit = async (_request: unknown, _response: unknown, next: () => void): Promise<void> => {
      const decision = await this.limiter.consume('mails', ADA);
      if (!decision.allowed) throw new RateLimitExceededException(decision);
      next();
    };
    consumer.apply(limit).forRoutes('free');
  }
}

/** Answers every HTTP exception in a format of its own, as many applications do. */
@Catch(HttpException)
class OwnFormat implements ExceptionFilter {
  catch(exception: HttpException, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<{
      status: (code: number) => { send: (body: object) => void };
    }>();
    response.status(exception.getStatus()).send({ problem: exception.name });
  }
}

describe.each(PLATFORMS)('over %s, an exception that the application throws itself', (platform) => {
  const open = (
    options: RateLimitModuleOptions = {},
    providers: Provider[] = [],
    settings?: AppSettings,
  ): Promise<HttpApp> => {
    const limits = RateLimitModule.forRoot({ store: new StillStore(), policies: { mails: POLICY }, ...options });
    const imports = [limits, BeforeRoutes];
    return start(platform, { imports, controllers: [Routes], providers: [Mails, ...providers] }, settings);
  };

  it('carries the headers and the body that a rejection of the guard has', async () => {
    await using app = await open();
    expect(await app.crowd(2, '/own')).toEqual({ 200: 2 });
    const reply = await app.send('/own');
    const { status, headers, body } = reply;
    expect([status, headers['retry-after'], headers['x-ratelimit-limit'], left(reply)]).toEqual([429, '60', '2', 0]);
    expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1000);
    expect(body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'mails', retry_after: 60 });
    // After the guard let a request pass, the headers are those of the exception's own decision.
    const both = await app.send('/both');
    expect([both.status, both.headers['x-ratelimit-limit'], both.headers['retry-after']]).toEqual([429, '2', '60']);
    expect((await app.send('/both')).headers['x-ratelimit-limit']).toBe('1');
    // A middleware of Nest throws it with the same headers.
    const before = await app.send('/free');
    expect([before.status, before.headers['retry-after'], before.headers['x-ratelimit-limit']]).toEqual([
      429,
      '60',
      '2',
    ]);
  });

  it.each([
    ['of the root module', true],
    ['bound with useGlobalFilters', false],
  ])('is answered by a filter of the application %s, as a rejection of the guard is', async (_, provided) => {
    await using app = await open({}, provided ? [{ provide: APP_FILTER, useClass: OwnFormat }] : [], {
      configure: (nest) => void (!provided && nest.useGlobalFilters(new OwnFormat())),
    });
    await app.crowd(2, '/own');
    expect((await app.send('/own')).body).toEqual({ problem: 'RateLimitExceededException' });
    await app.send('/both');
    expect((await app.send('/both')).body).toEqual({ problem: 'RateLimitExceededException' });
  });

  it.each<[string, Provider[]]>([
    ['without other filters', []],
    ['beside a filter for HTTP exceptions', [{ provide: APP_FILTER, useClass: OwnFormat }]],
  ])('of a limiter that cannot decide is a 503 with Retry-After, %s', async (_, providers) => {
    await using app = await open({ store: ToldStore.failing(), onStoreFailure: 'closed' }, providers);
    const reply = await app.send('/own');
    expect([reply.status, reply.headers['retry-after'], limitHeaders(reply)]).toEqual([503, '1', []]);
    expect(reply.body).toEqual({
      statusCode: 503,
      error: 'rate_limit_unavailable',
      message: 'The rate limit could not be checked',
      retry_after: 1,
    });
    expect(app.logs.of('error')).toEqual([]);
    await expect(app.app.get(Mails).send()).rejects.toThrow(LimiterUnavailableError);
  });
});
