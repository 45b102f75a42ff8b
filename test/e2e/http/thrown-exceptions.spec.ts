import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  Inject,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimiter, RateLimitExceededException, RateLimitModule, SkipRateLimit } from 'nestjs-floodgate';
import { left, limitHeaders, PLATFORMS, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const POLICY = { algorithm: 'token-bucket', capacity: 2, refill: '1/m' } as const;

@Controller()
class Mails {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  @Get('own')
  @SkipRateLimit()
  async own(): Promise<string> {
    const decision = await this.limiter.consume('mails', { kind: 'user', value: 'ada' });
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    return 'sent';
  }

  /** The guard limits this route, and so does the handler by an exception of its own. */
  @Get('both')
  @RateLimit({ ...POLICY, name: 'route', capacity: 1 })
  both(): Promise<string> {
    return this.own();
  }
}

/** Answers every exception in a format of its own, as many applications do. */
@Catch()
class OwnFormat implements ExceptionFilter {
  catch(exception: HttpException, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<{
      status: (code: number) => { send: (body: object) => void };
    }>();
    response.status(exception.getStatus()).send({ problem: exception.name });
  }
}

describe.each(PLATFORMS)('over %s, an exception that the application throws itself', (platform) => {
  const imports = (headers: 'x-ratelimit' | false = 'x-ratelimit') => [
    RateLimitModule.forRoot({ store: new StillStore(), policies: { mails: POLICY }, headers }),
  ];

  it('carries the headers and the body that a rejection of the guard has', async () => {
    await using app = await start(platform, { imports: imports(), controllers: [Mails] });
    expect((await app.send('/own')).status).toBe(200);
    expect((await app.send('/own')).status).toBe(200);
    const reply = await app.send('/own');
    expect([reply.status, reply.headers['retry-after'], reply.headers['x-ratelimit-limit'], left(reply)]).toEqual([
      429,
      '60',
      '2',
      0,
    ]);
    expect(Number(reply.headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1000);
    expect(reply.body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'mails', retry_after: 60 });
  });

  it('carries Retry-After alone with headers: false', async () => {
    await using app = await start(platform, { imports: imports(false), controllers: [Mails] });
    await app.crowd(2, '/own');
    const reply = await app.send('/own');
    expect([reply.status, reply.headers['retry-after'], limitHeaders(reply)]).toEqual([429, '60', []]);
  });

  it('carries the headers of its own decision after the guard let the request pass', async () => {
    await using app = await start(platform, { imports: imports(), controllers: [Mails] });
    await app.crowd(2, '/own');
    const reply = await app.send('/both');
    expect([reply.status, reply.headers['x-ratelimit-limit'], reply.headers['retry-after']]).toEqual([429, '2', '60']);
    expect((await app.send('/both')).headers['x-ratelimit-limit']).toBe('1');
  });

  it.each<[string, boolean]>([
    ['of the root module', true],
    ['bound with useGlobalFilters', false],
  ])('is answered by a filter of the application %s, as a rejection of the guard is', async (_, provided) => {
    const providers = provided ? [{ provide: APP_FILTER, useClass: OwnFormat }] : [];
    await using app = await start(
      platform,
      { imports: imports(), controllers: [Mails], providers },
      { configure: (nest) => void (!provided && nest.useGlobalFilters(new OwnFormat())) },
    );
    await app.crowd(2, '/own');
    expect((await app.send('/own')).body).toEqual({ problem: 'RateLimitExceededException' });
    await app.send('/both');
    expect((await app.send('/both')).body).toEqual({ problem: 'RateLimitExceededException' });
  });
});
