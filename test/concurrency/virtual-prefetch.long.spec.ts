import { describe, expect, it } from '@jest/globals';
import type { Policy, PrefetchOptions } from 'nestjs-floodgate';
import { mulberry32 } from '../../demo/riders/mulberry32.js';
import { perSecond } from '../../lab/textbook/arithmetic.js';
import { costByWindow, worstExcess } from '../../lab/textbook/bounds.js';
import { TextbookTokenBucket } from '../../lab/textbook/textbook.js';
import { LONG } from '../support/long.js';
import { type Troubles, VirtualPods } from './support/virtual-pods.js';

const PREFETCH: PrefetchOptions = { for: '100ms', max: 200 };
const CALM: Troubles = { drift: 0, loss: 0 };
/** Near the largest drift that prefetches allow for. A call has two messages: 5 % of the calls are lost. */
const ROUGH: Troubles = { drift: 0.0019, loss: 0.025, deathEvery: 30, outage: { from: 900, lasts: 200 } };
const SECONDS = 2;
const SEEDS = LONG ? [1, 2] : [1];

interface Load {
  readonly pods: number;
  /** Requests a second, over all pods. */
  readonly rate: number;
  readonly troubles: Troubles;
  /** The part of the time in which the requests come, 10 times a second; default all of it. */
  readonly duty?: number;
}

async function run(policies: readonly Policy[], load: Load, seed = 1): Promise<VirtualPods> {
  const { pods, rate, troubles, duty = 1 } = load;
  const all = await VirtualPods.boot(policies, troubles, pods, seed);
  const next = mulberry32(seed + 1);
  const arrive = (): void => {
    if (all.now >= SECONDS * 1000) return;
    const pod = Math.floor(next() * pods);
    if ((all.now % 100) / 100 < duty) all.ask(pod, 'user:hot');
    all.at(all.now + (-Math.log(1 - next()) * 1000 * duty) / rate, arrive);
  };
  arrive();
  await all.run(SECONDS * 1000);
  return all;
}

function decisionsOf({ decidedBy }: VirtualPods): number {
  return Object.values(decidedBy).reduce((sum, count) => sum + count, 0);
}

/** How many admissions a textbook would not make. */
function overBucket({ admissions }: VirtualPods, capacity: number, refill: number): number {
  const textbook = new TextbookTokenBucket(capacity, perSecond(refill));
  const instants = admissions.map(({ at }) => at).toSorted((a, b) => a - b);
  return instants.filter((at) => !textbook.ask(at).allowed).length;
}

/** The most admissions of a second. */
function mostInSecond({ admissions }: VirtualPods): number {
  return Math.max(...costByWindow(admissions, 1_000_000).values());
}

describe('a policy with prefetches beside one without', () => {
  it('is charged for admitted requests alone: rejected ones give their tokens back', async () => {
    const prefetched = { algorithm: 'token-bucket', capacity: 2_000, refill: '1/h', prefetch: PREFETCH } as const;
    const plain = { algorithm: 'fixed-window', limit: 50, window: '1s' } as const;
    const pods = await run([prefetched, plain], { pods: 4, rate: 1_000, troubles: CALM });
    await pods.run(1_000);
    const admitted = pods.admissions.length;
    expect(mostInSecond(pods)).toBe(50);
    expect(admitted).toBeGreaterThanOrEqual(50 * SECONDS);
    // Without that, some 3,700 requests would have cost it all of its tokens.
    expect(pods.remaining('user:hot')).toBeGreaterThanOrEqual(2_000 - admitted - pods.expired);
    expect(pods.expired).toBeLessThan(100 * SECONDS);
  });
});

describe('requests of cost above 1', () => {
  it('are decided while the next prefetch is asked for, which settles most of the prefetch in use', async () => {
    const policy = { algorithm: 'token-bucket', capacity: 10_000, refill: 1_000, prefetch: PREFETCH } as const;
    const pods = await VirtualPods.boot([policy], CALM, 1, 1);
    const costs = mulberry32(7);
    for (let i = 0; i < 400; i++) {
      pods.ask(0, 'user:ada', 1 + Math.floor(costs() * 20));
      await pods.run(5);
    }
    await pods.run(1_000);
    expect(decisionsOf(pods)).toBe(400);
    expect(worstExcess(pods.admissions, 10_000, perSecond(1_000))).toBeLessThanOrEqual(0);
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
    const pods = await VirtualPods.boot([policy], CALM, 2, 1);
    const ask = async (pod: number, ms: number): Promise<void> => {
      pods.ask(pod, 'user:ada');
      await pods.run(ms);
    };
    for (let i = 0; i < 3; i++) await ask(0, 5);
    await ask(0, 0);
    while (pods.remaining('user:ada') > 94) await pods.run(0.01); // the answer takes longer
    await pods.reset(0, 'user:ada');
    const resetAt = pods.clock();
    for (let i = 0; i < 60; i++) await ask(1, 20);
    await pods.run(3_000);
    const since = pods.admissions.filter(({ at }) => at >= resetAt);
    expect(since).toHaveLength(60);
    expect(pods.remaining('user:ada')).toBeLessThanOrEqual(100 - since.length);
  });
});

/** Sends the same requests to pods that ask Redis each time, and to pods that prefetch. */
async function compare(policy: Policy, load: Load, expectNoMore: (pods: VirtualPods) => void): Promise<void> {
  for (const seed of SEEDS) {
    const exact = await run([policy], load, seed);
    const prefetched = await run([{ ...policy, prefetch: PREFETCH } as Policy], load, seed);
    expectNoMore(exact);
    expectNoMore(prefetched);
    expect(prefetched.admissions.length + prefetched.lost).toBeGreaterThan(0.95 * exact.admissions.length);
  }
}

const BUCKETS: readonly (readonly [name: string, capacity: number, refill: number, load: Load])[] = [
  ['just enough', 1_200, 5_000, { pods: 20, rate: 5_000, troubles: CALM }],
  ['small', 50, 500, { pods: 20, rate: 1_000, troubles: CALM }],
  ['one pod', 1_000, 1_000, { pods: 1, rate: 900, troubles: CALM }],
  ['bursts', 1_000, 2_000, { pods: 20, rate: 2_000, troubles: CALM, duty: 0.3 }],
  ['ample, with troubles', 10_000, 10_000, { pods: 20, rate: 5_000, troubles: ROUGH }],
  ['twice too much, with troubles', 500, 1_000, { pods: 20, rate: 2_000, troubles: ROUGH }],
];

describe('prefetches never admit more, and hardly less', () => {
  it.each(BUCKETS)(
    'of a token bucket, %s: %i and %i a second',
    async (_, capacity, refill, load) => {
      await compare({ algorithm: 'token-bucket', capacity, refill }, load, (pods) => {
        expect(overBucket(pods, capacity, refill)).toBe(0);
      });
    },
    60_000,
  );

  it.each(
    (['fixed-window', 'sliding-window-counter'] as const).flatMap((algorithm) => [
      { algorithm, where: 'ample', limit: 10_000, load: { pods: 20, rate: 5_000, troubles: CALM } },
      { algorithm, where: 'twice too much', limit: 1_000, load: { pods: 20, rate: 2_000, troubles: CALM } },
      { algorithm, where: 'with troubles', limit: 1_000, load: { pods: 20, rate: 2_000, troubles: ROUGH } },
    ]),
  )(
    'of a $algorithm, $where: $limit in a window',
    async ({ algorithm, limit, load }) => {
      await compare({ algorithm, limit, window: '1s' }, load, (pods) => {
        expect(mostInSecond(pods)).toBeLessThanOrEqual(limit);
      });
    },
    60_000,
  );
});
