import { describe, expect, it } from '@jest/globals';
import { assert, pre, property } from 'fast-check';
import { answersOf, situationsOf } from '../../../../test/support/algorithm-laws.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../../../../test/support/algorithm-of.js';
import { expectHolds, expectSame } from '../../../../test/support/expect-same.js';
import { histories } from '../../../../test/support/property-runs.js';

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
