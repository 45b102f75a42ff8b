import { Catch, Controller, type ExceptionFilter, Get, HttpException, Inject } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { RateLimiter, RateLimitModule, type RateLimitStore } from 'nestjs-floodgate';
import { limitHeaders, PLATFORMS, start } from '../../support/http-app.js';

const POLICY = { algorithm: 'token-bucket', capacity: 2, refill: '1/m', onStoreFailure: 'closed' } as const;

const failing: RateLimitStore = { consume: () => Promise.reject(new Error('disk is full')), reset: () => undefined };

@Controller()
class Mails {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  @Get()
  async send(): Promise<string> {
    await this.limiter.consume('mails', { kind: 'user', value: 'ada' });
    return 'sent';
  }
}

/** Answers HTTP exceptions alone, as a filter for a body format does. */
@Catch(HttpException)
class OwnFormat implements ExceptionFilter {
  catch(): void {
    throw new Error('not called: the error is the limiter’s, not an HttpException');
  }
}

describe.each(PLATFORMS)('a handler whose own RateLimiter call fails, over %s', (platform) => {
  const imports = [RateLimitModule.forRoot({ store: failing, policies: { mails: POLICY } })];

  it.each<[string, object[]]>([
    ['without other filters', []],
    ['beside a filter for HTTP exceptions', [{ provide: APP_FILTER, useClass: OwnFormat }]],
  ])('answers 503 with Retry-After, as the guard does, %s', async (_, providers) => {
    await using app = await start(platform, { imports, controllers: [Mails], providers: providers as [] });
    const reply = await app.send('/');
    expect([reply.status, reply.headers['retry-after'], limitHeaders(reply)]).toEqual([503, '1', []]);
    expect(reply.body).toEqual({
      statusCode: 503,
      error: 'rate_limit_unavailable',
      message: 'The rate limit could not be checked',
      retry_after: 1,
    });
  });
});
