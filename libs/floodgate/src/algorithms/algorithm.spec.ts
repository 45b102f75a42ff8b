import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, nat, oneof, pre, property } from 'fast-check';
import { answersOf, situationsOf } from '../../../../test/support/algorithm-laws.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../../../../test/support/algorithm-of.js';
import { expectHolds, expectSame } from '../../../../test/support/expect-same.js';
import { histories } from '../../../../test/support/property-runs.js';
import { algorithmOfRate } from './algorithms.js';
import { BlockAlgorithm } from './block/block.js';
import { EscalatingBlockAlgorithm } from './block/escalating-block.js';
import type { AlgorithmName } from './core/algorithm.js';
import type { WireFormat } from './core/wire-format.js';
import { PrefetchBucket } from './token-bucket/prefetch-bucket.js';
import { TokenBucket } from './token-bucket/token-bucket.js';

const SKEW = 10_000;
const MOST = Number.MAX_SAFE_INTEGER;

describe('the list of algorithms', () => {
  const algorithms = ALL_ALGORITHMS.map((name) => algorithmOf(SMALL_POLICIES[name]));

  it('has every code once, and keeps the codes that stand in the keys of running systems', () => {
    const codes = Object.fromEntries(algorithms.map(({ name, code }) => [name, code]));
    expect(codes).toMatchObject({
      'token-bucket': 'tb',
      'leaky-bucket': 'lb',
      'fixed-window': 'fw',
      'sliding-window-log': 'swl',
      'sliding-window-counter': 'swc',
    });
    expect(new Set(Object.values(codes)).size).toBe(ALL_ALGORITHMS.length);
  });

  it('says that a leaky bucket delays requests, and what cannot be split', () => {
    const delaying = algorithms.filter(({ delays }) => delays);
    const whole = algorithms.filter(({ shares }) => !shares.shardable);
    expect([delaying, whole].map((some) => some.map(({ name }) => name))).toEqual([
      ['leaky-bucket'],
      ['leaky-bucket', 'concurrency'],
    ]);
  });

  it.each([
    ['token-bucket', 'capacity 4'],
    ['leaky-bucket', 'capacity 3'],
    ['fixed-window', 'limit 4, window 1000 ms'],
    ['sliding-window-log', 'limit 4, window 1000 ms'],
    ['sliding-window-counter', 'limit 4, window 1000 ms'],
  ] as const)('describes a %s as %s', (name, description) => {
    expect(algorithmOf(SMALL_POLICIES[name]).describe()).toBe(description);
  });
});

describe('an algorithm that is made from its rate', () => {
  const counter = Math.floor(2 ** 52 / 3);

  it.each<[string, number, string, number, string]>([
    ['token-bucket', 1, '1@100000000/1', 1, '1@100000001/1'],
    ['token-bucket', 2, `2@1/${2 ** 51}`, 2, `2@1/${2 ** 51 + 1}`],
    ['token-bucket', 1, '1@1/1@1', 1, '1@1/1@0'],
    ['leaky-bucket', 1, `1@1/${2 ** 51}`, 1, `1@1/${2 ** 51 + 1}`],
    ['leaky-bucket', 2, '2@1/1', 3, '2@1/1'],
    ['fixed-window', 1, '3155760000000000', 1, '3155760000000001'],
    ['fixed-window', 1e12, '1', 1e12 + 1, '1'],
    ['fixed-window', 1, 'day@UTC', 1, 'day@Nowhere'],
    ['fixed-window', 1, '1', 0, '1'],
    ['sliding-window-log', 1_000_000, '1', 1_000_001, '1'],
    ['sliding-window-counter', 1, '1577880000000000', 1, '1577880000000001'],
    ['sliding-window-counter', 3, `${counter}`, 3, `${counter + 1}`],
  ])('%s: is one of limit %d and rate %s, and none of %d and %s', (name, limit, rate, wrongLimit, wrongRate) => {
    expect(algorithmOfRate(name, limit, rate)).toMatchObject({ name, limit, rate });
    expect(algorithmOfRate(name, wrongLimit, wrongRate)).toBeUndefined();
  });
});

describe('a reply of Redis', () => {
  const wireOf = (name: AlgorithmName): WireFormat => algorithmOf(SMALL_POLICIES[name]).wire;
  const bucket = new TokenBucket(4, { tokens: 2, microseconds: 1_000_000, rounded: false });
  const lease = algorithmOf(SMALL_POLICIES.concurrency).lease!;

  it.each<[string, WireFormat, number[]]>([
    ['a token bucket', bucket.wire, [8e15 + 2 * SKEW]],
    ['a prefetch bucket', new PrefetchBucket(bucket, 1_000).wire, [8e15 + 2 * SKEW, 4, 4, MOST]],
    ['a fixed window', wireOf('fixed-window'), [MOST, 1_000_000 + SKEW]],
    ['a log', wireOf('sliding-window-log'), [MOST, 1_000_000 + SKEW, 1_000_000 + SKEW]],
    ['a counter', wireOf('sliding-window-counter'), [MOST, MOST, 1_000_000 + SKEW]],
    ['a renewal', lease.renewal(0).wire, [MOST, lease.length + SKEW, lease.length + SKEW, 1]],
    ['a block', new BlockAlgorithm(3, 50).wire, [50 + SKEW, 3]],
    ['an escalating block', new EscalatingBlockAlgorithm(3, [50, 90]).wire, [90 + SKEW, 3, 180 + SKEW, 2]],
  ])('of %s is a level up to the largest numbers, and with any other number none', (_, wire, largest) => {
    const isLevel = (numbers: readonly unknown[]): boolean => wire.isLevel([-1, ...numbers, -1], 1, SKEW);
    expect(isLevel(largest)).toBe(true);
    expect(largest).toHaveLength(wire.replyLength);
    for (const [i, number] of largest.entries())
      for (const wrong of [number + 1, -1, 0.5]) expect(isLevel(largest.with(i, wrong))).toBe(false);
  });

  it('says that a window has time left, and a log if it has entries', () => {
    expect(wireOf('fixed-window').isLevel([0, 0], 0, 0)).toBe(false);
    expect(wireOf('sliding-window-counter').isLevel([0, 0, 0], 0, 0)).toBe(false);
    const ofLog = [
      [0, 0, 0],
      [0, 1, 0],
      [1, 0, 0],
      [1, 1, 0],
    ].map((reply) => wireOf('sliding-window-log').isLevel(reply, 0, 0));
    expect(ofLog).toEqual([true, false, false, true]);
  });
});

describe.each(ALL_ALGORITHMS)('every algorithm, %s', (name) => {
  it('reads at the same instant the level that it wrote', () => {
    const law = property(situationsOf(name), ({ algorithm, now, state, level, cost }) => {
      const wanted = answersOf(algorithm, level, cost);
      const written = algorithm.write(level, now, state);
      expectSame(answersOf(algorithm, algorithm.read(written, now, 0), cost), wanted);
      expectHolds(!algorithm.isAhead(written, now, 0), () => ({ written, now }));
    });
    assert(law, histories());
  });

  it('reads at expiresAt the level of no state', () => {
    const law = property(situationsOf(name), ({ algorithm, now, state, level, cost }) => {
      const written = algorithm.write(level, now, state);
      const end = algorithm.expiresAt(level, now);
      const fresh = algorithm.read(undefined, end, 0);
      expectHolds(end >= now, () => ({ end, now }));
      expectSame(answersOf(algorithm, algorithm.read(written, end, 0), cost), answersOf(algorithm, fresh, cost));
    });
    assert(law, histories());
  });

  it('is carried on while a clock that stepped back is within the skew, and is ahead where it would be read anew', () => {
    const steps = oneof(nat({ max: 2 * SKEW }), nat({ max: 5_000_000 }), constantFrom(SKEW, SKEW + 1));
    const law = property(situationsOf(name), steps, nat({ max: 3_000_000 }), (situation, back, later) => {
      const { algorithm, now, state, level, cost } = situation;
      const written = algorithm.write(level, now, state);
      const then = now - back;
      if (algorithm.isAhead(written, then, SKEW)) expectHolds(back > SKEW, () => ({ situation, back }));
      else {
        const copy = structuredClone(written);
        const again = algorithm.write(algorithm.read(copy, then, SKEW), then, copy);
        for (const at of [then, then + later]) {
          const [kept, carried] = [written, again].map((one) => algorithm.read(one, at, SKEW));
          expectSame(answersOf(algorithm, carried, cost), answersOf(algorithm, kept, cost));
        }
      }
    });
    assert(law, histories(4));
  });

  it('fits requests one after the other if it fits their sum', () => {
    const law = property(situationsOf(name), ({ algorithm, level, cost }) => {
      pre(cost >= 2 && cost <= algorithm.maxCost && algorithm.fits(level, cost));
      const first = Math.floor(cost / 2);
      const between = algorithm.charge(level, first);
      expectHolds(algorithm.fits(level, first) && algorithm.fits(between, cost - first), () => ({ level, cost }));
      const after = algorithm.charge(between, cost - first);
      expectSame(answersOf(algorithm, after, 1), answersOf(algorithm, algorithm.charge(level, cost), 1));
    });
    assert(law, histories());
  });

  it('answers and waits in whole, safe numbers only', () => {
    const law = property(situationsOf(name), ({ algorithm, now, level, cost }) => {
      const numbers = [
        algorithm.remaining(level),
        algorithm.resetAfter(level),
        algorithm.delay(level),
        algorithm.expiresAt(level, now),
        ...(algorithm.fits(level, cost) || cost > algorithm.maxCost ? [] : [algorithm.retryAfter(level, cost)]),
        ...algorithm.wire.numbers,
      ];
      expectHolds(
        numbers.every((number) => Number.isSafeInteger(number) && number >= 0),
        () => ({ numbers }),
      );
    });
    assert(law, histories());
  });

  it('puts into keys the parameters that a state depends on: the capacity of a bucket, but not the limit of a window', () => {
    const policy = SMALL_POLICIES[name];
    const isBucket = name.endsWith('bucket');
    const [size, rate] = Object.keys(policy).filter((option) => option !== 'algorithm') as [string, string];
    const rateWith = (option: string, value: number) => algorithmOf({ ...policy, [option]: value }).rate;
    expect(rateWith(rate, 7_000)).not.toBe(algorithmOf(policy).rate);
    expect(rateWith(size, 1) !== algorithmOf(policy).rate).toBe(isBucket);
  });
});
