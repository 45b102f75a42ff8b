import { describe, expect, it, jest } from '@jest/globals';
import { unhandledRejections } from '../../../../test/support/node-warnings.js';
import { StillStore } from '../../../../test/support/still-store.js';
import { boundPolicy } from '../../../../test/support/told-thresholds.js';
import { Execution } from '../charges/execution.js';
import { chargeOf, type PolicyCharge } from '../charges/policy-charge.js';
import type { LimiterOptions } from '../limiter/limiter-options.js';
import type { LimiterParts } from '../limiter/limiter-parts.js';
import { storeAlone } from '../limiter/opened-store.js';
import { readLimiterOptions } from '../limiter/options-table.js';
import { partsAlone } from '../limiter/parts-alone.js';
import { denialsOf } from '../limiter/rooms.js';
import type { OverrideChange } from '../layers/overrides/override.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Policy } from '../policy/policy.js';
import type { Charge, ChargeReceipt, ChargeSettlement, RateLimitStore, Verdict } from '../stores/store.js';
import { StoreUnavailableError } from '../stores/unavailable.js';
import type { ThresholdEvent } from '../watch/thresholds/threshold-event.js';

const WINDOW = { algorithm: 'fixed-window', limit: 3, window: '1h' } as const;
const PLAIN: Policy = { ...WINDOW, name: 'plain' };
const RESERVED: Policy = { ...WINDOW, name: 'reserved', settle: () => 1 };
const LEASED: Policy = { name: 'leased', algorithm: 'concurrency', limit: 1, lease: '1h' };
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: 1 };
const ADA = { kind: 'user', value: 'ada' };

/** A store of an application over a `MemoryStore`. It notes what it is told. */
class OwnStore implements RateLimitStore {
  readonly supports = ['shadow', 'block', 'headroom'] as const;
  readonly inner = new StillStore();
  readonly refunded: (readonly ChargeReceipt[])[] = [];
  readonly settled: (readonly ChargeSettlement[])[] = [];
  answer: (charges: readonly Charge[]) => Verdict | Promise<Verdict> = (charges) => this.inner.consume(charges);
  refunds: () => void = () => undefined;
  settles: NonNullable<RateLimitStore['settle']> = (settlements) => this.inner.settle(settlements);

  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    return this.answer(charges);
  }
  reset(keys: readonly string[]): number {
    return this.inner.reset(keys);
  }
  refund?(receipts: readonly ChargeReceipt[]): void {
    this.refunded.push(receipts);
    this.refunds();
    this.inner.refund(receipts);
  }
  settle?(settlements: readonly ChargeSettlement[]): ReturnType<NonNullable<RateLimitStore['settle']>> {
    this.settled.push(settlements);
    return this.settles(settlements);
  }
}

interface Opened extends LimiterParts {
  readonly warnings: string[];
}

function opened(store: RateLimitStore, given: LimiterOptions = {}): Opened {
  const warnings: string[] = [];
  const logger = { log: () => {}, error: () => {}, warn: (message: string) => void warnings.push(message) };
  const options = readLimiterOptions({ policies: { api: WINDOW }, ...given }, 'test');
  const own = { ...storeAlone(store, 20), denials: denialsOf(options) };
  return Object.assign(partsAlone(options, own, logger), { warnings });
}

const bound = new Map<Policy, BoundPolicy>();
function charge(policy: Policy, cost = 1, identity = 'user:ada'): PolicyCharge {
  if (!bound.has(policy)) bound.set(policy, boundPolicy(policy));
  return chargeOf(bound.get(policy)!, identity, cost);
}
const nextTurn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const gone = (): never => {
  throw new Error('gone');
};

describe('a refund', () => {
  it('goes to the store once a turn, without what cost nothing, and settles what was reserved', async () => {
    const store = new OwnStore();
    const { engine } = opened(store);
    const [one, free, reserved] = [charge(PLAIN), charge(PLAIN, 0, 'user:bob'), charge(RESERVED)];
    const receipts = [await engine.decide([one]), await engine.decide([free, reserved])].map((made) => made.receipts);
    for (const some of receipts) engine.refund(some);
    expect(store.refunded).toEqual([]);
    await nextTurn();
    expect(store.refunded.map((some) => some.map(({ key }) => key))).toEqual([[one.key]]);
    expect(store.settled.flat()).toMatchObject([{ receipt: { key: reserved.key }, finalCost: 0 }]);
    await nextTurn();
    expect([store.refunded.length, store.settled.length]).toEqual([1, 1]);
    for (const some of [one, reserved]) {
      expect((await engine.decision([some])).policies[0]!.remaining).toBe(2);
    }
    const slots = await Promise.all([0, 1].map(async () => engine.decide([charge(QUEUE)])));
    engine.refund(slots.flatMap((slot) => slot.receipts));
    await nextTurn();
    expect((await engine.decision([charge(QUEUE)])).delayMs).toBe(0);
    expect(store.refunded).toHaveLength(1); // a slot is settled: a refund could not tell that it was the last one
  });

  it('goes where the charge was made, and one that fails is a line in the log', async () => {
    const store = new OwnStore();
    const { engine } = opened(store);
    const made = await engine.decide([charge(PLAIN)]);
    store.answer = gone;
    const local = await engine.decide([charge(PLAIN)]);
    expect(local.decision).toMatchObject({ decidedBy: 'local', policies: [{ remaining: 2 }] });
    engine.refund(local.receipts);
    expect(await engine.decision([charge(PLAIN)])).toMatchObject({ policies: [{ remaining: 2 }] });
    await nextTurn();
    expect(store.refunded).toEqual([]);
    const other = opened(store);
    store.refunds = gone;
    other.engine.refund(made.receipts);
    await nextTurn();
    expect(store.refunded).toHaveLength(1);
    expect(other.warnings.join()).toMatch('The store refunded nothing: gone');
  });
});

describe('a store that fails', () => {
  it('is counted if it was asked, is asked once in an execution, and its reason is kept', async () => {
    const store = new OwnStore();
    const { engine, monitor, layered, warnings } = opened(store);
    const failuresOf = async (error: unknown): Promise<number> => {
      store.answer = () => {
        throw error;
      };
      const before = monitor.stats().storeFailures;
      expect((await engine.decision([charge(PLAIN)])).decidedBy).toBe('local');
      return monitor.stats().storeFailures - before;
    };
    expect(await failuresOf('text')).toBe(1);
    expect(warnings.join()).toMatch(`The store could not decide: 'text'`);
    expect(await failuresOf(new StoreUnavailableError('away', false))).toBe(0);
    expect(await failuresOf(new StoreUnavailableError('away', true))).toBe(1);
    const cause = new Error('gone');
    expect(layered.failure(cause)).toMatchObject({ message: 'the store failed: gone', cause });
    const execution = new Execution();
    let asked = 0;
    store.answer = () => (asked++ === 0 ? gone() : new Promise(() => {}));
    for (let i = 0; i < 3; i++) await engine.decide([charge(PLAIN)], undefined, execution);
    expect([asked, execution.missedDeadline?.message]).toEqual([2, 'the store gave no answer within 20 ms']);
    expect(monitor.stats().storeFailures).toBe(4); // the last decision asked nothing
  });

  it('gives back a place that it grants late, and keeps a late token', async () => {
    const store = new OwnStore();
    const { engine } = opened(store);
    let release = (): void => undefined;
    store.answer = async (charges) => {
      await new Promise<void>((resolve) => (release = resolve));
      return store.inner.consume(charges);
    };
    for (const policy of [LEASED, PLAIN]) {
      expect((await engine.decision([charge(policy)])).decidedBy).toBe('local');
      release();
      await nextTurn();
    }
    expect(store.refunded.flat().map(({ key }) => key)).toEqual([charge(LEASED).key]);
  });

  const later = (store: OwnStore) => (store.answer = async (charges) => store.inner.consume(charges));
  it.each<[string, (store: OwnStore) => void, string, string[]]>([
    ['answers at once', () => undefined, 'decided by store', ['peek', 'take', 'take']],
    ['throws', (store) => (store.answer = gone), 'decided by local', []],
    ['answers later', later, 'RateLimiter.consumeSync: the store answers later', ['peek']],
    ['fails later', (store) => (store.answer = async () => gone()), 'the store answers later', []],
  ])('or %s is asked once whether consumeSync can decide, with nothing to charge', async (_, change, told, modes) => {
    const rejections = unhandledRejections();
    const store = new OwnStore();
    change(store);
    const { limiter } = opened(store);
    for (let i = 0; i < 2; i++) {
      let outcome: string;
      try {
        outcome = `decided by ${limiter.consumeSync('api', ADA).decidedBy}`;
      } catch (error) {
        outcome = (error as Error).message;
      }
      expect(outcome).toMatch(told);
    }
    expect(store.inner.asked.flat().map(({ mode }) => mode)).toEqual(modes);
    expect(await rejections()).toEqual([]);
  });

  it('keeps no reset waiting that it never answers', async () => {
    const store = Object.assign(new OwnStore(), { reset: async () => new Promise<void>(() => {}) });
    await expect(opened(store).engine.reset(['key'])).rejects.toThrow('the store gave no answer within 20 ms');
  });
});

describe('a settlement', () => {
  /** What is settled of a reservation of 3, and how many fit afterwards. */
  const settledAt = async (store: OwnStore, finalCost: number): Promise<unknown[]> => {
    const { engine } = opened(store);
    const reservation = await engine.reserve([charge(RESERVED, 3)]);
    const { settledBy, policies, error } = await reservation.settle(finalCost);
    const [{ refunded }] = policies as [(typeof policies)[number]];
    const left = store.inner.consume([charge(RESERVED, 0)]).charges[0]!.remaining;
    return [settledBy, refunded, left, (error as Error | undefined)?.message];
  };
  const without = (...methods: ('settle' | 'refund')[]): OwnStore =>
    Object.assign(new OwnStore(), Object.fromEntries(methods.map((method) => [method, undefined])));

  it.each<[string, () => OwnStore, number, unknown[]]>([
    ['at a lower cost', () => new OwnStore(), 1, ['store', 2, 2, undefined]],
    ['at the same cost', () => new OwnStore(), 3, ['store', 0, 0, undefined]],
    ['of a store that only refunds', () => without('settle'), 1, ['store', null, 2, undefined]],
    ['of a store that gives nothing back', () => without('settle', 'refund'), 1, ['none', 0, 0, undefined]],
  ])('%s', async (_, store, finalCost, expected) => {
    expect(await settledAt(store(), finalCost)).toEqual(expected);
  });

  it.each<[string, OwnStore['settles'], string]>([
    ['throws', gone, 'the store failed: gone'],
    ['answers with too little', () => [], 'the store failed: its answer is no settlement'],
    ['answers with nothing', () => undefined as never, 'the store failed: its answer is no settlement'],
    ['never answers', async () => new Promise(() => {}), 'the store gave no answer within 20 ms'],
  ])('of a store that %s has its error', async (_, settles, message) => {
    const store = Object.assign(new OwnStore(), { settles });
    expect(await settledAt(store, 1)).toEqual(['none', 0, 0, message]);
  });

  it('at a higher cost needs a store that settles', async () => {
    const { engine } = opened(without('settle'));
    const reservation = await engine.reserve([charge(RESERVED, 2)]);
    await expect(async () => reservation.settle(3)).rejects.toThrow(
      '2 was reserved, and 3 cannot be charged: the store has no method settle',
    );
  });

  it('makes a rejection uncertain that is kept, as a reset does', async () => {
    const store = new OwnStore();
    const { engine } = opened(store, { denialCache: '10s' });
    const asks = async (): Promise<boolean> => {
      const before = store.inner.asked.length;
      await engine.decision([charge(RESERVED)]);
      return store.inner.asked.length > before;
    };
    const reservation = await engine.reserve([charge(RESERVED, 3)]);
    await reservation.settle(3);
    expect([await asks(), await asks()]).toEqual([true, false]);
    expect(await engine.reset([charge(RESERVED).key])).toBe(1);
    expect(await asks()).toBe(true);
    const another = await engine.reserve([charge(RESERVED, 2)]);
    expect([await asks(), await asks()]).toEqual([true, true]); // the open reservation may be given back
    await another.settle(0);
    expect((await engine.decision([charge(RESERVED)])).allowed).toBe(true);
  });
});

it("'closed' rejects with an error, which counts as unavailable and reaches each way to decide", async () => {
  const store = new OwnStore();
  store.answer = gone;
  const { engine, monitor } = opened(store);
  const closed = charge({ ...PLAIN, name: 'closed', onStoreFailure: 'closed' });
  const error = { name: 'LimiterUnavailableError' };
  expect(() => engine.decide([closed])).toThrow(expect.objectContaining(error));
  expect(() => engine.decision([closed])).toThrow(expect.objectContaining(error));
  expect(() => engine.reserve([closed])).toThrow(expect.objectContaining(error));
  const failed = (thrown: unknown): unknown => thrown;
  expect(engine.decideThen<unknown>([closed], ({ decision }) => decision, failed)).toMatchObject(error);
  expect(monitor.stats()).toMatchObject({ unavailable: 4, rejected: 0, sources: { closed: 4 } });
});

it('what watches sees the charges that were made, and is waited for at the end', async () => {
  const told: string[] = [];
  const onThreshold = ({ level, source }: ThresholdEvent): void => void told.push(`${level} ${source}`);
  const store = new OwnStore();
  const { engine, layered } = opened(store, { onThreshold });
  const policy: Policy = { ...PLAIN, name: 'watched', thresholds: [0.5, 1] };
  for (let i = 0; i < 5; i++) await engine.decide([charge(policy)]);
  store.answer = gone;
  for (let i = 0; i < 5; i++) await engine.decide([charge(policy, 1, 'user:bob')]);
  await engine.close();
  expect(told).toEqual(['0.5 store', '1 store', '0.5 local', '1 local']);
  let answer = (): void => undefined;
  let isIdle = false;
  store.answer = async (charges) => {
    await new Promise<void>((resolve) => (answer = resolve));
    return store.inner.consume(charges);
  };
  await engine.decide([charge(PLAIN)]); // in its place the process decides
  const idle = layered.close().then(() => (isIdle = true));
  await nextTurn();
  expect(isIdle).toBe(false);
  answer();
  await idle;
});

it('the clock is read only where something needs the latency', async () => {
  const { limiter, monitor } = opened(new StillStore(), { denialCache: 0 });
  const clock = jest.spyOn(performance, 'now');
  for (let i = 0; i < 3; i++) await limiter.consume('api', ADA);
  expect(clock).not.toHaveBeenCalled();
  clock.mockRestore();
  expect(monitor.stats().latencyMs).toBeUndefined();
});

it('overrides are counted for what decides, and a peek counts nothing', async () => {
  const { overrides, engine, limiter, monitor } = opened(new StillStore(), { policies: { api: WINDOW, wide: WINDOW } });
  const set = async (policy: string, change: OverrideChange): Promise<unknown> =>
    overrides.set({ policy, identity: ADA }, change);
  await set('api', { exempt: true });
  await set('wide', { limit: 1 });
  for (const expected of [true, false]) {
    expect(await limiter.consume(['api', 'wide'], ADA)).toMatchObject({ allowed: expected });
    await limiter.peek(['api', 'wide'], ADA);
  }
  expect(monitor.stats().overridden).toEqual({ changed: 2, exempt: 2, blocked: 0 });
  const requests = Object.fromEntries(monitor.stats().policies.map((one) => [one.policy, one.requests]));
  expect(requests).toEqual({ api: 0, wide: 2 });
  expect(engine.overrideStats).toMatchObject({ count: 2 });
  expect(await limiter.consume('api', ADA)).toMatchObject({ decidedBy: 'override', allowed: true });
  expect(monitor.stats().sources).toMatchObject({ store: 2, override: 1 });
  const [wide, plain] = ['wide', 'plain'].map((name) => boundPolicy({ ...WINDOW, name, scope: 'app' }));
  expect(engine.overriddenCharge(wide!, 'user:ada')).toMatchObject({ mode: 'peek', policy: { numbers: { limit: 1 } } });
  expect([engine.overriddenCharge(plain!, 'user:ada'), engine.overrideOf(plain!, 'user:ada')]).toEqual([
    undefined,
    undefined,
  ]);
  expect(engine.overrideOf(wide!, 'user:ada')).toMatchObject({ change: { limit: 1 } });
});
