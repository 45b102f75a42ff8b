import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimiter } from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';

const PARTNER = { algorithm: 'token-bucket', capacity: 1, refill: '1/h', by: 'global' } as const satisfies Policy;

@Controller()
class InvoicesController {
  constructor(private readonly limiter: RateLimiter) {}

  @Get('late')
  late(): Promise<string> {
    return this.limiter.schedule('partner', () => 'an invoice', { maxWait: 0 });
  }

  @Get('queued')
  queued(): Promise<string> {
    return this.limiter.schedule('partner', () => 'an invoice', { maxWait: Infinity });
  }
}

describe('a call that gets no turn, in a route', () => {
  it('answers 503 with the time to wait, and tells the client neither policies nor options', async () => {
    await using app = await limited('Express', InvoicesController, { policies: { partner: PARTNER } });
    expect((await app.send('/late')).text).toBe('an invoice');
    const { status, headers, body } = await app.send('/late');
    expect(status).toBe(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(3_000);
    expect(body).toEqual({
      statusCode: 503,
      error: 'rate_limit_unavailable',
      message: 'The request would wait too long',
      retry_after: Number(headers['retry-after']),
    });
  });

  it('says the same of a full queue, as problem details as well', async () => {
    const options = { policies: { partner: PARTNER }, maxQueuedCalls: 1, problem: true };
    await using app = await limited('Express', InvoicesController, options);
    expect((await app.send('/queued')).status).toBe(200);
    const waiting = app.send('/queued').catch(() => undefined);
    const answers = [await app.send('/queued'), await app.send('/queued')];
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    expect(answers.at(-1)!.body).toMatchObject({ detail: 'Too many requests are waiting' });
    await app.app.close();
    await waiting;
  });
});
