import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, integer, nat, oneof, property, record } from 'fast-check';
import { ALL_ALGORITHMS } from '../../../../test/support/algorithm-of.js';
import { policyOf } from '../../../../test/support/arbitrary-policies.js';
import { type Admitted, BOUNDS } from '../../../../test/support/bounds-of.js';
import { expectHolds, expectSame } from '../../../../test/support/expect-same.js';
import { histories } from '../../../../test/support/property-runs.js';
import { TestClock } from '../../../../test/support/test-clock.js';
import { boundPolicy } from '../../../../test/support/told-thresholds.js';
import { shareOfLimit } from '../algorithms/core/shares.js';
import type { PolicyDecision } from '../policy/decision.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { decisionOf } from '../charges/judgement.js';
import { chargeOf } from '../charges/policy-charge.js';
import { Fallback } from './fallback.js';
import type { OnStoreFailure, Policy } from '../policy/policy.js';
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

const PROCESSES = [1, 2, 3, 4, 7, 24, 10_000];

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
          const policy = boundPolicy(given);
          const limit = shareOfLimit(policy.algorithm.limit, processes, 1);
          const outage = new Outage(processes);
          const { clock } = outage;
          const admitted: Admitted[] = [];
          for (const { cost, wait, times } of steps) {
            clock.now += wait;
            for (let i = 0; i < times; i++) {
              const decision = outage.ask(policy, cost);
              expectHolds(decision.limit === limit, () => ({ decision, limit }));
              if (!decision.allowed || cost === 0) continue;
              admitted.push({ at: clock.now, cost, delay: Math.round(decision.delayMs * 1000) });
            }
          }
          BOUNDS[name](admitted, policy.algorithm, limit, BigInt(processes));
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
          const policy = boundPolicy(given);
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
        const policy = boundPolicy(given);
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
  const policy = boundPolicy({ algorithm: 'fixed-window', limit: 3, window: '1d', blockFor: ['1m', '10m', '1h'] });
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

const WINDOW = { algorithm: 'fixed-window', limit: 2, window: '1h' } as const;

describe('a row of policies', () => {
  const one = (name: string, onStoreFailure: OnStoreFailure, shadow = false): Policy => ({
    ...WINDOW,
    name,
    onStoreFailure,
    mode: shadow ? 'shadow' : 'enforce',
  });
  const [open, closed, local] = (['open', 'closed', 'local'] as const).map((choice) => one(choice, choice));
  const [shadow, closedShadow] = [one('shadow', 'local', true), one('closed-shadow', 'closed', true)];

  it.each<[string, Policy[], string, (number | null)[]]>([
    ['open', [open!], 'open', [null]],
    ['closed', [closed!], 'closed', [null]],
    ['open beside closed', [open!, closed!, local!], 'closed', [null, null, null]],
    ['a shadow that says closed', [closedShadow], 'open', [null]],
    ['local', [local!], 'local', [1]],
    ['local beside open', [open!, local!, closedShadow], 'local', [null, 1, null]],
    ['a shadow', [shadow], 'open', [1]],
    ['a shadow beside local', [shadow, local!], 'local', [1, 1]],
  ])('is decided as each says: %s', (_, policies, source, remaining) => {
    const { fallback } = new Outage(1);
    const charges = policies.map((policy) => chargeOf(boundPolicy(policy), 'k', 1, 'take'));
    const verdict = fallback.decide(charges, AWAY);
    expect([verdict.source, verdict.allowed]).toEqual([source, source !== 'closed']);
    expect(verdict.unavailable?.cause).toBe(source === 'closed' ? AWAY : undefined);
    expect(verdict.charges.map((charge) => charge.remaining)).toEqual(remaining.map((left) => left ?? 0));
    expect(verdict.charges.map((charge) => charge.unasked !== undefined)).toEqual(
      remaining.map((left) => left === null),
    );
  });

  it('has the choice of the module where it says nothing', () => {
    const settings = { onStoreFailure: 'closed', localShare: 1, fallbackMaxBytes: 1_000_000 } as const;
    const charge = chargeOf(boundPolicy(WINDOW), 'k', 1, 'take');
    const { source, at } = new Fallback(settings).decide([charge], AWAY);
    expect(source).toBe('closed');
    expect(Math.abs(at / 1000 - Date.now())).toBeLessThan(60_000); // by the process's clock
  });
});

it('refunds and settles what it has charged', () => {
  const { fallback } = new Outage(4);
  const policy = boundPolicy({ algorithm: 'fixed-window', limit: 8, window: '1h', cost: 3 });
  const ask = (cost: number) => fallback.decide([chargeOf(policy, 'k', cost, 'reserve')], AWAY);
  const [charge] = ask(3).charges;
  expect(charge).toMatchObject({ allowed: true, remaining: 0 });
  expect(fallback.settle([{ receipt: charge!.receipt!, finalCost: 1, overdraft: 0 }])).toEqual([
    { refunded: 2, charged: 0 },
  ]);
  const [second] = ask(2).charges;
  expect(second).toMatchObject({ allowed: true, remaining: 0 });
  fallback.refund([second!.receipt!]);
  expect(ask(0).charges[0]).toMatchObject({ remaining: 2 });
});

it('has room in its share for a request of the usual cost, whatever its class leaves to others', () => {
  const usual = boundPolicy({ ...WINDOW, limit: 16, cost: 3 });
  const ofLowClass = { ...usual, priorities: new Map([['low', 0.5]]), priority: 'low' };
  const ofRequest = { ...usual, cost: () => 3 };
  const told = [usual, ofLowClass, ofRequest].map((policy) => new Outage(4).ask(policy, 3));
  expect(told.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 1],
    [true, 0],
    [true, 1],
  ]);
});
