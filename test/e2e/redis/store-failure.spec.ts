import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, type RateLimitStore, RateLimitStoreError, type Verdict } from 'nestjs-floodgate';
import { type HttpApp, limited, limitHeaders, PLATFORMS, type Reply } from '../../support/http-app.js';
import { inTime } from '../../support/in-time.js';
import { expectRationed } from '../../support/rationed.js';

@Controller()
class Routes {
  @Get()
  @RateLimit({ algorithm: 'token-bucket', capacity: 1, refill: '1/h' })
  get(): string {
    return 'passed';
  }

  @Get('free')
  free(): void {}
}

const DEADLINE_MS = 50;

const never = new Promise<Verdict>(() => undefined);

const VERDICT: Verdict = {
  allowed: true,
  at: 0,
  charges: [{ allowed: true, remaining: 0, resetAfter: 0, retryAfter: 0, delay: 0 }],
};

const FAILURES: [string, () => Verdict | Promise<Verdict>][] = [
  ['rejects', () => Promise.reject(new Error('disk is full'))],
  ['rejects with its own error', () => Promise.reject(new RateLimitStoreError('disk is full'))],
  ['rejects with undefined', () => Promise.reject(undefined)],
  ['rejects with text', () => Promise.reject('disk is full')],
  [
    'throws',
    () => {
      throw new Error('disk is full');
    },
  ],
  [
    'throws null',
    () => {
      throw null;
    },
  ],
  ['never answers', () => never],
  ['answers a thenable that never settles', () => thenable(() => undefined)],
  ['answers too late', async () => (await delay(1000, undefined, { ref: false }), never)],
  ['answers undefined', () => undefined as unknown as Verdict],
  ['answers a promise of undefined', async () => undefined as unknown as Verdict],
  [
    'answers an object with the outer shape of a verdict',
    () => ({ ...VERDICT, charges: [null] }) as unknown as Verdict,
  ],
];

/** A promise of another library or realm. It may have no method but `then`. */
class Thenable {
  constructor(private readonly settle: (resolve: (verdict: Verdict) => void) => void) {}

  // oxlint-disable-next-line unicorn/no-thenable -- the test needs a thenable
  then(resolve: (verdict: Verdict) => void): void {
    this.settle(resolve);
  }
}

function thenable(settle: (resolve: (verdict: Verdict) => void) => void): Promise<Verdict> {
  return new Thenable(settle) as unknown as Promise<Verdict>;
}

function failing(consume: () => Verdict | Promise<Verdict>): RateLimitStore {
  return { consume, reset: () => undefined };
}

async function five(app: HttpApp): Promise<{ result: Reply[]; inTime: boolean }> {
  await app.send('/free'); // the first request of a process is slow, because Node compiles the code
  return inTime(DEADLINE_MS, () => Promise.all([1, 2, 3, 4, 5].map(() => app.send('/'))));
}

describe.each(PLATFORMS)('over %s', (platform) => {
  describe.each(FAILURES)('a store that %s', (_, consume) => {
    it("lets requests pass within the deadline, without X-RateLimit headers, with onStoreFailure: 'open'", async () => {
      await using app = await limited(platform, Routes, { onStoreFailure: 'open', store: failing(consume) });
      const since = performance.now();
      const answers = await five(app);
      for (const reply of answers.result) {
        expect([reply.status, reply.text, limitHeaders(reply)]).toEqual([200, 'passed', []]);
        expect(reply.headers).not.toHaveProperty('retry-after');
      }
      expect(answers.inTime).toBe(true);
      expect(expectRationed(app.logs.of('warn'), since)).toMatch(/^The store could not decide: .+ RateLimit$/);
      expect(app.logs.of('error')).toEqual([]);
    });

    it("answers 503 with Retry-After within the deadline with onStoreFailure: 'closed'", async () => {
      await using app = await limited(platform, Routes, { onStoreFailure: 'closed', store: failing(consume) });
      const since = performance.now();
      const answers = await five(app);
      for (const reply of answers.result) {
        expect([reply.status, reply.headers['retry-after'], limitHeaders(reply)]).toEqual([503, '1', []]);
        expect(reply.body).toEqual({
          statusCode: 503,
          error: 'rate_limit_unavailable',
          message: 'The rate limit could not be checked',
          retry_after: 1,
        });
      }
      expect(answers.inTime).toBe(true);
      expectRationed(app.logs.of('warn'), since);
    });
  });

  it('a failing store causes at most one warning a second, which counts the failures since the last one', async () => {
    await using app = await limited(platform, Routes, { store: failing(FAILURES[0]![1]) });
    const since = performance.now();
    let sent = 0;
    while (performance.now() - since < 1300) {
      await app.send('/');
      sent++;
      await delay(5);
    }
    const warnings = app.logs.of('warn');
    expect(warnings.length).toBeGreaterThanOrEqual(2);
    expect(warnings.length).toBeLessThanOrEqual(1 + Math.floor((performance.now() - since) / 1000));
    expect(warnings[0]).toBe('The store could not decide: disk is full RateLimit');
    expect(Number(/\((\d+) more since the last warning\)/.exec(warnings[1]!)![1])).toBeLessThan(sent);
    expect(warnings[1]).toMatch(/disk is full \([1-9]\d* more since the last warning\)/);
  });

  it('a store may answer with thenables', async () => {
    await using app = await limited(platform, Routes, {
      store: failing(() => thenable((resolve) => void setImmediate(resolve, VERDICT))),
    });
    expect(limitHeaders(await app.send('/'))).toHaveLength(3);
    expect(app.logs.of('warn')).toEqual([]);
  });

  it('a store that recovers decides again without help', async () => {
    let fails = true;
    await using app = await limited(platform, Routes, {
      onStoreFailure: 'open',
      store: failing(() => (fails ? never : VERDICT)),
    });
    expect(limitHeaders(await app.send('/'))).toEqual([]);
    fails = false;
    expect(limitHeaders(await app.send('/'))).toHaveLength(3);
  });
});
