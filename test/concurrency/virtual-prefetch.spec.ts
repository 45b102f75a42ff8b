import { afterAll, describe, expect, it } from '@jest/globals';
import type { Policy, PrefetchOptions } from 'nestjs-floodgate';
import { mulberry32 } from '../../libs/riders/mulberry32.js';
import { perSecond } from '../../libs/textbook/arithmetic.js';
import { TextbookTokenBucket } from '../../libs/textbook/textbook.js';
import { LONG } from '../support/long.js';
import { type Troubles, VirtualPods } from './support/virtual-pods.js';

const PREFETCH: PrefetchOptions = { for: '100ms', max: 200 };
const CALM: Troubles = { drift: 0, loss: 0 };
/** Near the largest drift that prefetches allow for. */
const ROUGH: Troubles = { drift: 0.0019, loss: 0.05, deathEvery: 30 };
const SECONDS = LONG ? 4 : 2;

interface Load {
  readonly pods: number;
  /** Requests a second, over all pods. */
  readonly rate: number;
  readonly troubles: Troubles;
  /** The part of the time in which the requests come, 10 times a second; default all of it. */
  readonly duty?: number;
}

async function run(policies: readonly Policy[], { pods, rate, troubles, duty = 1 }: Load): Promise<VirtualPods> {
  const seed = 20_240_626;
  const all = new VirtualPods(policies, troubles, pods, seed);
  const next = mulberry32(seed + 1);
  const { time } = all;
  const start = time.now;
  const asked: Promise<unknown>[] = [];
  const arrive = (): void => {
    if (time.now >= start + SECONDS * 1000) return;
    const pod = Math.floor(next() * pods);
    if (((time.now - start) % 100) / 100 < duty) asked.push(all.ask(pod, 'user:hot'));
    time.at(time.now + (-Math.log(1 - next()) * 1000 * duty) / rate, arrive);
  };
  arrive();
  await time.run(start + SECONDS * 1000);
  return all;
}

/** How many admissions a textbook would not make. */
function overBucket({ admissions }: VirtualPods, capacity: number, refill: number): number {
  const textbook = new TextbookTokenBucket(capacity, perSecond(refill));
  const instants = admissions.map(({ at }) => Math.floor(at * 1000)).toSorted((a, b) => a - b);
  return instants.filter((at) => !textbook.ask(at).allowed).length;
}

/** The most admissions of a window. */
function mostInWindow({ admissions }: VirtualPods, window: number): number {
  const counts = new Map<number, number>();
  for (const { at } of admissions) counts.set(Math.floor(at / window), (counts.get(Math.floor(at / window)) ?? 0) + 1);
  return Math.max(...counts.values());
}

describe('a policy with prefetches beside one without', () => {
  it('is charged for admitted requests alone: rejected ones give their tokens back', async () => {
    const prefetched = { algorithm: 'token-bucket', capacity: 2_000, refill: '1/h', prefetch: PREFETCH } as const;
    const plain = { algorithm: 'fixed-window', limit: 50, window: '1s' } as const;
    const pods = await run([prefetched, plain], { pods: 4, rate: 1_000, troubles: CALM });
    await pods.time.run(pods.time.now + 1_000);
    const admitted = pods.admissions.length;
    expect(mostInWindow(pods, 1000)).toBe(50);
    expect(admitted).toBeGreaterThanOrEqual(50 * SECONDS);
    // Without that, some 3,700 requests would have cost it all of its tokens.
    expect(pods.remaining('user:hot')).toBeGreaterThanOrEqual(2_000 - admitted - pods.expired);
    expect(pods.expired).toBeLessThan(100 * SECONDS);
  }, 60_000);
});

describe('requests of cost above 1', () => {
  it('are decided while the next prefetch is asked for, which settles most of the prefetch in use', async () => {
    const policy = { algorithm: 'token-bucket', capacity: 10_000, refill: 1_000, prefetch: PREFETCH } as const;
    const pods = new VirtualPods([policy], CALM, 1, 1);
    const asked: Promise<unknown>[] = [];
    const costs = mulberry32(7);
    for (let i = 0; i < 400; i++) {
      asked.push(pods.ask(0, 'user:ada', 1 + Math.floor(costs() * 20)));
      await pods.time.run(pods.time.now + 5);
    }
    await pods.time.run(pods.time.now + 1_000);
    await expect(Promise.all(asked)).resolves.toHaveLength(400);
    expect(pods.decidedBy.prefetch).toBeGreaterThan(200);
  });
});

describe('a reset', () => {
  it('ends a prefetch whose answer is on its way, and returns nothing of it to what other processes are charged', async () => {
    const policy = {
      algorithm: 'token-bucket',
      capacity: 100,
      refill: '1/h',
      prefetch: { for: '1s', max: 10 },
    } as const;
    const pods = new VirtualPods([policy], CALM, 2, 1);
    const { time } = pods;
    const ask = async (pod: number, ms: number): Promise<void> => {
      void pods.ask(pod, 'user:ada');
      await time.run(time.now + ms);
    };
    for (let i = 0; i < 3; i++) await ask(0, 5);
    await ask(0, 0);
    while (pods.remaining('user:ada') > 94) await time.run(time.now + 0.01); // the answer takes longer
    await pods.reset(0, 'user:ada');
    const reset = pods.admissions.length;
    for (let i = 0; i < 60; i++) await ask(1, 20);
    await time.run(time.now + 3_000);
    expect(pods.remaining('user:ada')).toBeLessThanOrEqual(100 - (pods.admissions.length - reset));
  });

  it('ends the prefetches of its process, and what is on its way', async () => {
    const policy = { algorithm: 'token-bucket', capacity: 100, refill: '1/h', prefetch: PREFETCH } as const;
    const pods = new VirtualPods([policy], CALM, 1, 1);
    const ask = async (): Promise<string | undefined> => {
      const asked = pods.ask(0, 'user:ada');
      await pods.time.run(pods.time.now + 5);
      return (await asked)?.decidedBy;
    };
    for (let i = 0; i < 8; i++) await ask();
    expect(await ask()).toBe('prefetch');
    await pods.reset(0, 'user:ada');
    expect(await ask()).toBe('store');
    expect(pods.remaining('user:ada')).toBe(99);
  });
});

const REPORT: object[] = [];
afterAll(() => console.table(REPORT));

describe.each([
  ['ample', 10_000, 10_000, { pods: 20, rate: 5_000, troubles: CALM }],
  ['just enough', 1_200, 5_000, { pods: 20, rate: 5_000, troubles: CALM }],
  ['twice too much', 500, 1_000, { pods: 20, rate: 2_000, troubles: CALM }],
  ['small', 50, 500, { pods: 20, rate: 1_000, troubles: CALM }],
  ['one pod', 1_000, 1_000, { pods: 1, rate: 900, troubles: CALM }],
  ['bursts', 1_000, 2_000, { pods: 20, rate: 2_000, troubles: CALM, duty: 0.3 }],
  ['ample, with troubles', 10_000, 10_000, { pods: 20, rate: 5_000, troubles: ROUGH }],
  ['twice too much, with troubles', 500, 1_000, { pods: 20, rate: 2_000, troubles: ROUGH }],
] as const)('prefetches of a token bucket, %s: %i and %i a second', (name, capacity, refill, load) => {
  it('never admit more, and hardly less', async () => {
    const policy = { algorithm: 'token-bucket', capacity, refill } as const;
    const [exact, prefetched] = [await run([policy], load), await run([{ ...policy, prefetch: PREFETCH }], load)];
    const requests = Object.values(prefetched.decidedBy).reduce((sum, count) => sum + count, 0);
    REPORT.push({
      name,
      requests,
      byPrefetch: (prefetched.decidedBy.prefetch ?? 0) / requests,
      exact: exact.admissions.length,
      ratio: prefetched.admissions.length / exact.admissions.length,
      calls: prefetched.calls / requests,
      fewer: exact.calls / prefetched.calls,
    });
    expect(overBucket(exact, capacity, refill)).toBe(0);
    expect(overBucket(prefetched, capacity, refill)).toBe(0);
    expect(prefetched.admissions.length).toBeGreaterThan(0.95 * exact.admissions.length);
  }, 60_000);
});

describe.each(['fixed-window', 'sliding-window-counter'] as const)('prefetches of a %s', (algorithm) => {
  it.each([
    ['ample', 10_000, { pods: 20, rate: 5_000, troubles: CALM }],
    ['twice too much', 1_000, { pods: 20, rate: 2_000, troubles: CALM }],
    ['twice too much, with troubles', 1_000, { pods: 20, rate: 2_000, troubles: ROUGH }],
  ] as const)(
    '%s: never admit more than %i in a window, and hardly less',
    async (name, limit, load) => {
      const policy = { algorithm, limit, window: '1s' } as const;
      const [exact, prefetched] = [await run([policy], load), await run([{ ...policy, prefetch: PREFETCH }], load)];
      const requests = Object.values(prefetched.decidedBy).reduce((sum, count) => sum + count, 0);
      REPORT.push({
        name: `${algorithm} ${name}`,
        requests,
        byPrefetch: (prefetched.decidedBy.prefetch ?? 0) / requests,
        exact: exact.admissions.length,
        ratio: prefetched.admissions.length / exact.admissions.length,
        calls: prefetched.calls / requests,
        fewer: exact.calls / prefetched.calls,
      });
      expect(mostInWindow(prefetched, 1000)).toBeLessThanOrEqual(limit);
      expect(prefetched.admissions.length).toBeGreaterThan(0.95 * exact.admissions.length);
    },
    60_000,
  );
});
