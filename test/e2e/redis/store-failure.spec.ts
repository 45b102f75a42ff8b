import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimit, type RateLimitStore, RateLimitStoreError } from 'nestjs-floodgate';
import type { Verdict } from 'nestjs-floodgate/testing';
import { limited, limitHeaders, PLATFORMS } from '../../support/http-app.js';
import { expectRationed } from '../../support/rationed.js';

@Controller()
class Routes {
  @Get()
  @RateLimit({ algorithm: 'token-bucket', capacity: 1, refill: '1/h' })
  get(): string {
    return 'passed';
  }
}

const never = new Promise<Verdict>(() => undefined);
const fails = (error: unknown) => (): never => {
  throw error;
};

const VERDICT: Verdict = {
  allowed: true,
  at: 0,
  charges: [{ allowed: true, remaining: 0, resetAfter: 0, retryAfter: 0, delay: 0 }],
};

const FAILURES: [string, () => Verdict | Promise<Verdict>][] = [
  ['rejects', () => Promise.reject(new Error('disk is full'))],
  ['rejects with its own error', () => Promise.reject(new RateLimitStoreError('disk is full'))],
  ['rejects with undefined', () => Promise.reject(undefined)],
  ['throws', fails(new Error('disk is full'))],
  ['throws null', fails(null)],
  ['never answers', () => never],
  ['answers a thenable that never settles', () => thenable(() => undefined)],
  ['answers too late', () => delay(1000, VERDICT, { ref: false })],
  ['answers what is no verdict', () => undefined as unknown as Verdict],
];

/** A promise of another library or realm. It may have no method but `then`. */
function thenable(settle: (resolve: (verdict: Verdict) => void) => void): Promise<Verdict> {
  // oxlint-disable-next-line unicorn/no-thenable -- the test needs a thenable
  return { then: settle } as unknown as Promise<Verdict>;
}

const failing = (consume: () => Verdict | Promise<Verdict>): RateLimitStore => ({ consume, reset: () => undefined });
/** A hanging store is given up after this time, long before the late one answers. */
const deadline = 50;

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a store that', () => {
  it.each(FAILURES)('%s lets requests pass with open, and causes 503 with closed', async (_, consume) => {
    const store = failing(consume);
    await using open = await limited('Express', Routes, { onStoreFailure: 'open', store, deadline });
    const since = performance.now();
    for (const reply of await Promise.all([1, 2, 3, 4, 5].map(() => open.send('/')))) {
      expect([reply.status, reply.text, limitHeaders(reply)]).toEqual([200, 'passed', []]);
      expect(reply.headers).not.toHaveProperty('retry-after');
    }
    expect(expectRationed(open.logs.of('warn'), since)).toMatch(/^The store could not decide: .+ RateLimit$/);
    await using closed = await limited('Fastify', Routes, { onStoreFailure: 'closed', store, deadline });
    const reply = await closed.send('/');
    expect([reply.status, reply.headers['retry-after'], limitHeaders(reply)]).toEqual([503, '1', []]);
    expect(reply.body).toEqual({
      statusCode: 503,
      error: 'rate_limit_unavailable',
      message: 'The rate limit could not be checked',
      retry_after: 1,
    });
    expect([...open.logs.of('error'), ...closed.logs.of('error')]).toEqual([]);
  });
});

it('a failing store causes one warning a second, which counts the failures since the last one', async () => {
  await using app = await limited('Express', Routes, { store: failing(fails(new Error('disk is full'))) });
  let now = performance.now();
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  for (let i = 0; i < 4; i++) await app.send('/');
  expect(app.logs.of('warn')[0]).toBe('The store could not decide: disk is full RateLimit');
  now += 60_000;
  await app.send('/');
  expect(app.logs.of('warn').at(-1)).toContain('disk is full (3 more since the last warning)');
});

it.each(PLATFORMS)('over %s a store may answer with thenables, and recovers without help', async (platform) => {
  let hangs = false;
  const answer = (): Promise<Verdict> => thenable((resolve) => void setImmediate(resolve, VERDICT));
  const store = failing(() => (hangs ? never : answer()));
  await using app = await limited(platform, Routes, { onStoreFailure: 'open', store });
  expect(limitHeaders(await app.send('/'))).toHaveLength(3);
  expect(app.logs.of('warn')).toEqual([]);
  hangs = true;
  expect(limitHeaders(await app.send('/'))).toEqual([]);
  hangs = false;
  expect(limitHeaders(await app.send('/'))).toHaveLength(3);
});
