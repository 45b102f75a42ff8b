import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, integer, nat, oneof, property, record } from 'fast-check';
import { ALL_ALGORITHMS, rateOf, windowOf } from '../../../../test/support/algorithm-of.js';
import { policyOf } from '../../../../test/support/arbitrary-policies.js';
import { expectHolds, expectSame } from '../../../../test/support/expect-same.js';
import { histories } from '../../../../test/support/property-runs.js';
import { TestClock } from '../../../../test/support/test-clock.js';
import type { Algorithm, AlgorithmName } from '../algorithms/core/algorithm.js';
import { shareOfLimit } from '../algorithms/core/shares.js';
import type { PolicyDecision } from '../policy/decision.js';
import { type BoundPolicy, bindPolicy } from '../policy/bound-policy.js';
import { decisionOf } from '../charges/judgement.js';
import { chargeOf } from '../charges/policy-charge.js';
import { Fallback } from './fallback.js';
import { parsePolicy } from '../policy/parse-policy.js';
import type { Policy } from '../policy/policy.js';
import { MemoryStore } from '../stores/memory/memory.store.js';

const ORIGIN = 19_900 * 86_400_000_000;
const AWAY = new Error('the store is away');

/** One of so many processes during an outage. The test sets its clock. */
class Outage {
  readonly clock = new TestClock(ORIGIN);
  readonly fallback: Fallback;

  constructor(processes: number) {
    const options = { onStoreFailure: 'local', localShare: processes, fallbackMaxBytes: 64_000_000 } as const;
    this.fallback = new Fallback(options, this.clock.read);
  }

  ask(policy: BoundPolicy, cost = 1, key = 'k'): PolicyDecision {
    const verdict = this.fallback.decide([chargeOf(policy, key, cost, 'take')], AWAY);
    return decisionOf(verdict.asked!, verdict).policies[0]!;
  }

  /** How many of cost 1 pass now, one after the other. */
  drain(policy: BoundPolicy): number {
    let passed = 0;
    while (this.ask(policy).allowed) passed++;
    return passed;
  }
}

function bound(policy: Policy): BoundPolicy {
  return bindPolicy(parsePolicy(policy, 'test'), 'rl', 'app', 'test');
}

interface Admission {
  readonly at: number;
  readonly cost: number;
  readonly delay: number;
  /** The share. */
  readonly limit: number;
}

/** Fails unless what was admitted keeps to the share of one of so many processes. */
type Law = (whole: Algorithm, admitted: readonly Admission[], processes: bigint) => void;

const PROCESSES = [1, 2, 3, 4, 7, 24, 10_000];

const total = (admitted: readonly Admission[]): number => admitted.reduce((sum, { cost }) => sum + cost, 0);

/** In any interval: the share's capacity (of a queue: and the one that departs), and what the share's rate gave meanwhile. */
const bucketLaw =
  (extra: number): Law =>
  (whole, admitted, processes) => {
    const { tokens, microseconds } = rateOf(whole);
    for (let from = 0; from < admitted.length; from++) {
      let cost = 0;
      for (let to = from; to < admitted.length; to++) {
        cost += admitted[to]!.cost;
        const paid = BigInt(admitted[to]!.at - admitted[from]!.at) * tokens;
        const most = BigInt(admitted[to]!.limit + extra) * microseconds * processes + paid;
        expectHolds(BigInt(cost) * microseconds * processes <= most, () => ({
          from: admitted[from],
          to: admitted[to],
          cost,
        }));
      }
    }
  };

/** No two slots closer than the share's rate, and never in another order. */
const slotLaw: Law = (whole, admitted, processes) => {
  const { tokens, microseconds } = rateOf(whole);
  for (let i = 1; i < admitted.length; i++) {
    const [one, next] = [admitted[i - 1]!, admitted[i]!];
    const apart = BigInt(next.at + next.delay - one.at - one.delay) + 1n; // each is rounded up to a microsecond
    expectHolds(apart * tokens > BigInt(one.cost) * microseconds * processes, () => ({ one, next, whole: whole.rate }));
  }
};

const logLaw: Law = (whole, admitted) => {
  const window = windowOf(whole);
  for (const [i, last] of admitted.entries()) {
    const sum = total(admitted.slice(0, i + 1).filter(({ at }) => at > last.at - window));
    expectHolds(sum <= last.limit, () => ({ last, sum }));
  }
};

const LAWS: Readonly<Record<AlgorithmName, Law>> = {
  'token-bucket': bucketLaw(0),
  'leaky-bucket': (...history) => {
    bucketLaw(1)(...history);
    slotLaw(...history);
  },
  'fixed-window': (whole, admitted) => {
    const window = windowOf(whole);
    for (const last of admitted) {
      const start = last.at - (last.at % window);
      const sum = total(admitted.filter((one) => one.at >= start && admitted.indexOf(one) <= admitted.indexOf(last)));
      expectHolds(sum <= last.limit, () => ({ last, sum }));
    }
  },
  'sliding-window-log': logLaw,
  // Leases that nobody releases.
  concurrency: logLaw,
  'sliding-window-counter': (whole, admitted) => {
    const window = windowOf(whole);
    for (const [i, last] of admitted.entries()) {
      const start = last.at - (last.at % window);
      const before = admitted.slice(0, i + 1);
      const current = total(before.filter(({ at }) => at >= start));
      const previous = total(before.filter(({ at }) => at < start && at >= start - window));
      const weighted = BigInt(previous) * BigInt(window - (last.at - start));
      expectHolds(weighted <= BigInt(last.limit - current) * BigInt(window), () => ({ last, current, previous }));
    }
  },
};

const step = record({
  cost: oneof({ weight: 4, arbitrary: nat(3) }, nat(600)),
  wait: oneof(nat(3), nat(1_000), nat(3_000_000), nat(3_600_000_000)),
  times: oneof({ weight: 3, arbitrary: constantFrom(1) }, integer({ min: 2, max: 40 })),
});

describe('whatever the number of processes', () => {
  it.each(ALL_ALGORITHMS)('%s: no interval admits more than the share', (name) => {
    assert(
      property(
        policyOf(name),
        constantFrom(...PROCESSES),
        array(step, { minLength: 1, maxLength: 40 }),
        (given, processes, steps) => {
          const policy = bound(given);
          const limit = shareOfLimit(policy.algorithm.limit, processes, 1);
          const outage = new Outage(processes);
          const { clock } = outage;
          const admitted: Admission[] = [];
          for (const { cost, wait, times } of steps) {
            clock.now += wait;
            for (let i = 0; i < times; i++) {
              const decision = outage.ask(policy, cost);
              expectHolds(decision.limit === limit, () => ({ decision, limit }));
              if (!decision.allowed || cost === 0) continue;
              admitted.push({ at: clock.now, cost, delay: Math.round(decision.delayMs * 1000), limit });
            }
          }
          LAWS[name](policy.algorithm, admitted, BigInt(processes));
        },
      ),
      histories(),
    );
  });

  // A rejection by a concurrency tells when to ask again, as leases may be released at any time.
  const exact = ALL_ALGORITHMS.filter((name) => name !== 'concurrency');

  it.each(exact)('%s: a retry passes at the instant it is told, and not a microsecond before', (name) => {
    const waits = array(nat(5_000), { maxLength: 6 });
    assert(
      property(
        policyOf(name),
        constantFrom(...PROCESSES),
        waits,
        integer({ min: 1, max: 3 }),
        (given, processes, history, cost) => {
          const policy = bound(given);
          if (policy.algorithm.limit > 500) return; // drained one by one
          const outage = new Outage(processes);
          for (const wait of history) {
            for (let i = 0; i < 3; i++) outage.ask(policy);
            outage.clock.now += wait;
          }
          outage.drain(policy);
          const { retryAfterMs, allowed } = outage.ask(policy, cost);
          if (allowed || retryAfterMs === null || retryAfterMs > 1e11) return;
          outage.clock.now += Math.round(retryAfterMs * 1000) - 1;
          expectHolds(!outage.ask(policy, cost).allowed, () => ({ early: retryAfterMs }));
          outage.clock.now += 1;
          expectHolds(outage.ask(policy, cost).allowed, () => ({ late: retryAfterMs }));
        },
      ),
      histories(),
    );
  });

  it.each(ALL_ALGORITHMS)('%s: a number that stays decides as the whole policy does, where it is 1', (name) => {
    const steps = array(record({ cost: nat(4), wait: oneof(nat(3), nat(2_000_000)) }), { maxLength: 60 });
    assert(
      property(policyOf(name), steps, (given, history) => {
        const policy = bound(given);
        const outage = new Outage(1);
        const store = new MemoryStore({ clock: outage.clock.read });
        for (const { cost, wait } of history) {
          outage.clock.now += wait;
          // A lease of the process is a whole one from the start: its answer cannot be lost.
          const charges = [{ ...chargeOf(policy, 'k', cost, 'take'), algorithm: policy.algorithm }];
          expectSame(outage.ask(policy, cost), decisionOf(charges, store.consume(charges)).policies[0]);
        }
      }),
      histories(),
    );
  });
});

it('blocks locally for longer each time the client comes back, and a reset forgets the step', () => {
  const outage = new Outage(3);
  const policy = bound({ algorithm: 'fixed-window', limit: 3, window: '1d', blockFor: ['1m', '10m', '1h'] });
  const steps: unknown[] = [];
  outage.drain(policy);
  for (const minutes of [1, 10, 60]) {
    outage.clock.now += minutes * 60_000_000;
    const { blockedForMs, blockStep } = outage.ask(policy);
    steps.push([blockedForMs, blockStep]);
  }
  // The first block began with the rejection that ended the drain.
  expect(steps).toEqual([
    [600_000, 2],
    [3_600_000, 3],
    [3_600_000, 3],
  ]);
  const { key, block } = chargeOf(policy, 'k', 1, 'peek');
  outage.fallback.reset([key, block!.key]);
  outage.drain(policy);
  expect(outage.ask(policy)).toMatchObject({ blockedForMs: 60_000, blockStep: 1 });
});
