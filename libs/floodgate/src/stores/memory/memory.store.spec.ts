import { describe, expect, it } from '@jest/globals';
import { array, assert, constant, integer, nat, oneof, property, record } from 'fast-check';
import { algorithmOf } from '../../../../../test/support/algorithm-of.js';
import { expectHolds, expectSame } from '../../../../../test/support/expect-same.js';
import { histories } from '../../../../../test/support/property-runs.js';
import type { Algorithm } from '../../algorithms/core/algorithm.js';
import type { ChargeVerdict, Verdict } from '../store.js';
import { MemoryStore } from './memory.store.js';
import type { OverflowStates } from './overflow-states.js';

const ORIGIN = 19_900 * 86_400_000_000;
const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;

/** One request takes a fifth, which is more than little. Nothing comes back for a day. */
const SMALL = algorithmOf({ algorithm: 'sliding-window-log', limit: 5, window: '1d' });
/** One request takes a hundredth, which is little. */
const LARGE = algorithmOf({ algorithm: 'token-bucket', capacity: 100, refill: '100/d' });
const SHORT = algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1s' });

/** Room for one such log when it is full, and hardly for two. */
const LOG = algorithmOf({ algorithm: 'sliding-window-log', limit: 100, window: '1d' });
const LOG_BYTES = 2_400;

/** A store of a few keys with a clock that the test sets. */
class Desk {
  now = ORIGIN;
  readonly store: MemoryStore;

  constructor(maxKeys: number, maxBytes = 1e9) {
    this.store = new MemoryStore({ maxKeys, maxBytes, clock: () => this.now });
  }

  ask(who: string, algorithm: Algorithm, cost = 1, policy = 'p'): ChargeVerdict {
    const charge = { key: `rl:{user:${who}}:app:${policy}:x`, policyKey: `:app:${policy}:x`, algorithm, cost };
    return this.store.consume([charge]).charges[0]!;
  }

  /** Every client asks once. */
  all(names: readonly string[], algorithm: Algorithm): ChargeVerdict[] {
    return names.map((who) => this.ask(who, algorithm));
  }

  /** The cost that each client has taken. A peek at an unknown client may evict another one, so those come last. */
  taken(names: readonly string[], algorithm: Algorithm): number[] {
    return names.map((who) => algorithm.limit - this.ask(who, algorithm, 0).remaining);
  }
}

const names = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name}-${i}`);
const ones = (count: number): number[] => Array<number>(count).fill(1);

describe('MemoryStore without room evicts', () => {
  it('expired entries first', () => {
    const desk = new Desk(8);
    const [light, heavy] = [names('light', 3), names('heavy', 4)];
    desk.all(heavy, SMALL);
    desk.ask('over', SHORT);
    desk.all(light, LARGE);
    desk.now += SECOND + MINUTE; // with a clock of the application, expired states are kept for a minute
    desk.ask('new', SMALL);
    expect(desk.taken([...heavy, 'new'], SMALL)).toEqual(ones(5));
    expect(desk.taken(light, LARGE)).toEqual(ones(3));
    expect([desk.store.size, desk.store.overflowed]).toEqual([8, 0]);
  });

  it('then clients that have not asked within a minute, the longest ago first', () => {
    const desk = new Desk(8);
    const clients = names('client', 8);
    desk.all(clients, SMALL);
    const [longest, , ...others] = clients;
    desk.now += SECOND;
    desk.all(clients.slice(1), SMALL);
    desk.now += SECOND;
    desk.all(others, SMALL); // the first two clients have asked the longest ago, a second apart
    desk.now += MINUTE + SECOND;
    desk.ask('new-0', SMALL);
    expect(desk.taken(clients.slice(1), SMALL)).toEqual([2, 3, 3, 3, 3, 3, 3]);
    expect(desk.taken([longest!], SMALL)).toEqual([0]);
  });

  it('no key that the request itself needs', () => {
    const desk = new Desk(2);
    desk.ask('ada', LARGE);
    desk.ask('bob', LARGE);
    const charge = (who: string) => ({ key: `rl:{user:${who}}:app:p:x`, algorithm: LARGE, cost: 1 });
    const { charges } = desk.store.consume([charge('ada'), charge('eve')]);
    expect(charges.map(({ remaining }) => remaining)).toEqual([98, 99]);
    expect(desk.taken(['ada', 'eve'], LARGE)).toEqual([2, 1]);
    expect([desk.store.size, desk.store.overflowed]).toEqual([2, 0]);
  });
});

describe('MemoryStore when all clients are active', () => {
  it('gives all new clients one shared state, and leaves the others theirs', () => {
    const desk = new Desk(8);
    const clients = names('client', 8);
    desk.all(clients, SMALL);
    const invented = desk.all(names('invented', 100), SMALL);
    expect(invented.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(desk.store.overflowed).toBe(100);
    expect(desk.taken(clients, SMALL)).toEqual(ones(8));
    expect(desk.store.size).toBe(8);
    expect(desk.store.overflowed).toBe(100);
  });

  it('has one shared state for each algorithm, even where keys do not tell the algorithms apart', () => {
    const desk = new Desk(8);
    desk.all(names('client', 8), SMALL);
    const invented = names('invented', 20);
    const passed = (algorithm: Algorithm) => desk.all(invented, algorithm).filter(({ allowed }) => allowed).length;
    expect([passed(SMALL), passed(SHORT), passed(LARGE)]).toEqual([5, 5, 20]);
  });

  it('gives a client its own state as soon as there is room', () => {
    const desk = new Desk(8);
    desk.all(names('client', 8), SMALL);
    desk.all(names('invented', 10), SMALL);
    expect(desk.ask('late', SMALL).allowed).toBe(false);
    desk.store.reset(['rl:{user:client-0}:app:p:x']);
    expect(desk.ask('late', SMALL)).toMatchObject({ allowed: true, remaining: 4 });
    expect(desk.ask('later', SMALL).allowed).toBe(false);
    desk.now += MINUTE + SECOND;
    expect(desk.ask('later', SMALL)).toMatchObject({ allowed: true, remaining: 4 });
    expect(desk.store.overflowed).toBe(12); // 10, late, later
  });

  it('never shares one state between two charges of a request, whatever their keys look like', () => {
    const desk = new Desk(1);
    const charge = (key: string, cost: number) => ({ key, algorithm: SMALL, cost });
    desk.ask('client', SMALL);
    const passed = names('invented', 5).filter(
      (who) => desk.store.consume([charge(`${who}, a`, 3), charge(`${who}, b`, 1)]).allowed,
    );
    expect(passed).toHaveLength(1); // 3 and 3 are more than 5, whatever the other charge left behind
    expect(desk.store.size).toBe(1);
  });

  it('keeps a thousand shared states at most, whatever policies a function makes', () => {
    const desk = new Desk(1);
    desk.ask('client', SMALL);
    for (let i = 0; i < 3_000; i++) desk.ask('invented', SMALL, 1, `made-up-${i}`);
    const { entries } = desk.store as unknown as { entries: { shared: OverflowStates } };
    expect(entries.shared.size).toBeLessThanOrEqual(1_000);
  });
});

describe('MemoryStore.clear', () => {
  it('forgets the states of clients, and those that clients without room share', () => {
    const desk = new Desk(3);
    desk.all(names('client', 3), SMALL);
    for (const who of names('late', 4)) desk.ask(who, SMALL);
    const { overflowed } = desk.store;
    expect(overflowed).toBeGreaterThan(0);
    desk.store.clear();
    expect([desk.store.size, desk.store.bytes, desk.store.overflowed]).toEqual([0, 0, overflowed]);
    expect(desk.all(names('other', 3), SMALL).map(({ remaining }) => remaining)).toEqual([4, 4, 4]);
    expect(desk.ask('late-0', SMALL).remaining).toBe(4); // of the shared state
    expect(desk.taken(names('other', 3), SMALL)).toEqual(ones(3));
  });
});

describe('MemoryStore at maxBytes', () => {
  it('gives new keys a shared state when all clients are active, and blocked clients stay blocked', () => {
    const desk = new Desk(1_000, LOG_BYTES);
    expect(desk.ask('heavy', LOG, 100).allowed).toBe(true);
    const passed = names('invented', 300).filter((who) => desk.ask(who, LOG, 20).allowed);
    expect(passed).toHaveLength(1 + 5); // one client has its own state, the others share one limit
    expect(desk.store.overflowed).toBe(299);
    expect(desk.ask('heavy', LOG).allowed).toBe(false);
  });

  it('charges the shared state when a log has no room to grow, and keeps the log', () => {
    const desk = new Desk(1_000, LOG_BYTES);
    desk.ask('one', LOG, 60);
    desk.ask('two', LOG, 60);
    desk.ask('two', LOG, 30);
    expect(desk.store.overflowed).toBeGreaterThan(0);
    const passed = (who: string): number => names('ask', 300).filter(() => desk.ask(who, LOG).allowed).length;
    const before = 60 + 60 + 30;
    expect(before + passed('one') + passed('two')).toBeLessThanOrEqual(3 * 100); // one limit beyond those of the two
    desk.store.reset(['rl:{user:two}:app:p:x']);
    expect(desk.ask('one', LOG, 0).remaining).toBeLessThanOrEqual(40);
  });

  it('counts the bytes of evictions, refunds and compactions', () => {
    const step = record({ who: nat(5), which: nat(1), cost: nat(9), pauseMs: nat(40_000) });
    const short = algorithmOf({ algorithm: 'sliding-window-log', limit: 200, window: '1m' });
    const policies = [short, LARGE];
    assert(
      property(array(step, { maxLength: 200 }), integer({ min: 300, max: 20_000 }), (steps, maxBytes) => {
        const desk = new Desk(1_000, maxBytes);
        for (const { who, which, cost, pauseMs } of steps) {
          const key = `rl:{user:${who}-${which}}:app:p:x`;
          const charge = { key, algorithm: policies[which]!, cost };
          const { allowed, at, charges } = desk.store.consume([charge]);
          if (allowed && cost % 4 === 3) {
            desk.store.refund([{ ...charge, at, resetAt: at + charges[0]!.resetAfter }]);
          }
          // Only the shared states of the two policies may exceed the bound.
          expectHolds(desk.store.bytes <= maxBytes + 2 * 500 + 200 * 12, () => ({ bytes: desk.store.bytes, maxBytes }));
          desk.now += pauseMs * 1_000;
        }
        const overflowed = desk.store.overflowed > 0;
        desk.store.reset(Array.from({ length: 12 }, (_, i) => `rl:{user:${i >> 1}-${i & 1}}:app:p:x`));
        expectHolds(desk.store.size === 0 && (overflowed || desk.store.bytes === 0), () => ({
          left: desk.store.bytes,
        }));
      }),
      histories(),
    );
  });

  it.each([0, 1.5, -1, NaN, '64 MB' as unknown as number])('is a whole number of bytes from 1, not %p', (maxBytes) => {
    expect(() => new MemoryStore({ maxBytes })).toThrow(
      `MemoryStore: maxBytes must be a whole number from 1, got ${maxBytes}`,
    );
  });
});

describe('MemoryStore at its bound, for any history', () => {
  const POLICIES: readonly Algorithm[] = [
    SMALL,
    LARGE,
    SHORT,
    algorithmOf({ algorithm: 'leaky-bucket', capacity: 4, drain: '1/20s' }),
    algorithmOf({ algorithm: 'sliding-window-counter', limit: 6, window: '30s' }),
  ];
  const step = record({
    who: nat(40),
    which: nat(POLICIES.length - 1),
    cost: nat(4),
    pauseMs: oneof({ weight: 6, arbitrary: constant(0) }, nat(20_000)),
  });

  it('keeps the bound, and decides for an active client that has taken more than little as if there were no bound', () => {
    const history = array(step, { minLength: 1, maxLength: 300 });
    assert(
      property(history, integer({ min: 2, max: 12 }), (steps, maxKeys) => {
        const desk = new Desk(maxKeys);
        const boundless = new MemoryStore({ clock: () => desk.now });
        const mine = algorithmOf({ algorithm: 'token-bucket', capacity: 40, refill: '1/d' });
        const ask = (store: MemoryStore): Verdict =>
          store.consume([{ key: 'rl:{user:me}:app:mine:x', algorithm: mine, cost: 6 }]); // 15 % of it
        for (const { who, which, cost, pauseMs } of steps) {
          expectSame(ask(desk.store), ask(boundless));
          desk.ask(`${who}-${which}`, POLICIES[which]!, cost, `policy-${which}`);
          expectSame(Math.max(desk.store.size, maxKeys), maxKeys);
          desk.now += pauseMs * 1_000;
        }
      }),
      histories(),
    );
  });
});
