import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  type NestInterceptor,
  Query,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type HeaderFormat,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nestjs-floodgate';
import type { Observable } from 'rxjs';
import { type HttpApp, limited, PLATFORMS, type Reply } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ADA = { kind: 'user', value: 'ada' };
const window = (name: string, limit: number): Policy => ({ name, algorithm: 'fixed-window', limit, window: '1h' });

/** Sets the headers by the context: no parameter of the handler names the platform. */
@Injectable()
class Charged implements NestInterceptor {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    this.limiter.setHeaders(context, await this.limiter.consume('mails', ADA));
    return next.handle();
  }
}

/** Whether the method came too late, in the last request. */
let late: boolean | undefined;

@Controller()
class Mails {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  @Get('consume')
  @SkipRateLimit()
  async consume(@Res({ passthrough: true }) response: object): Promise<string> {
    const decision = await this.limiter.consume('mails', ADA);
    late = !this.limiter.setHeaders(response, decision);
    return decision.allowed ? 'sent' : 'queued';
  }

  @Get('reserve')
  @SkipRateLimit()
  async reserve(@Res({ passthrough: true }) response: object): Promise<string> {
    const reservation = await this.limiter.reserve('mails', ADA, { cost: 2 });
    this.limiter.setHeaders(response, reservation.decision);
    await reservation.settle(1);
    return 'sent';
  }

  @Get('context')
  @SkipRateLimit()
  @UseInterceptors(Charged)
  context(): string {
    return 'sent';
  }

  @Get('beside')
  @RateLimit(window('route', 10), window('mails, "all"', 1000))
  async beside(@Res({ passthrough: true }) response: object, @Query('times') times = '1'): Promise<string> {
    for (let i = 0; i < Number(times); i++) this.limiter.setHeaders(response, await this.limiter.consume('mails', ADA));
    return 'sent';
  }

  @Get('late')
  @SkipRateLimit()
  async late(@Res() response: { send: (text: string) => unknown }): Promise<void> {
    const decision = await this.limiter.peek('mails', ADA);
    await response.send('early');
    late = !this.limiter.setHeaders(response, decision);
  }
}

function said({ headers }: Reply): readonly unknown[] {
  return ['limit', 'remaining'].map((name) => headers[`x-ratelimit-${name}`]);
}

describe.each(PLATFORMS)('over %s, RateLimiter.setHeaders', (platform) => {
  const begin = (
    mails = 4,
    headers: HeaderFormat = 'x-ratelimit',
    options: RateLimitModuleOptions = {},
  ): Promise<HttpApp> =>
    limited(platform, Mails, {
      store: new StillStore(),
      policies: { mails: window('mails', mails) },
      headers,
      ...options,
    });

  it.each(['/consume', '/context'])('sets what the guard would set: %s', async (path) => {
    await using app = await begin();
    late = false;
    const reply = await app.send(path);
    expect([reply.text, ...said(reply), late]).toEqual(['sent', '4', '3', false]);
    expect(Number(reply.headers['x-ratelimit-reset'])).toBeGreaterThan(Date.now() / 1000);
    expect(reply.headers['retry-after']).toBeUndefined();
    expect(reply.headers['cache-control']).toBeUndefined();
  });

  it('sets those of a reservation, and of a rejection that the handler answers itself', async () => {
    await using app = await begin();
    expect(said(await app.send('/reserve'))).toEqual(['4', '2']);
    await app.crowd(3, '/consume');
    const reply = await app.send('/consume');
    expect([reply.status, reply.text, ...said(reply)]).toEqual([200, 'queued', '4', '0']);
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    expect(reply.headers['cache-control']).toBe('no-store');
  });

  it('leaves the headers of the policy with the smallest share left, of the route and of the handler', async () => {
    await using roomy = await begin(100);
    expect(said(await roomy.send('/beside'))).toEqual(['10', '9']);
    await using tight = await begin(4);
    expect(said(await tight.send('/beside'))).toEqual(['4', '3']);
    expect(said(await tight.send('/beside?times=2'))).toEqual(['4', '1']);
  });

  it('says where there is no response: after it was sent, and for anything else', async () => {
    await using app = await begin();
    const limiter = app.app.get(RateLimiter);
    const decision = await limiter.peek('mails', ADA);
    expect([(await app.send('/late')).text, late]).toEqual(['early', true]);
    for (const wrong of [{}, { status: 200 }, 'response', undefined]) {
      expect(() => limiter.setHeaders(wrong as object, decision)).toThrow(
        /^RateLimiter\.setHeaders: takes the response, as of @Res\(\{ passthrough: true \}\), or the ExecutionContext, got /,
      );
    }
  });
});
