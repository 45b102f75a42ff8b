import { describe, expect, it } from '@jest/globals';
import {
  ADA,
  charge,
  gone,
  nextTurn,
  opened,
  OwnStore,
  PLAIN,
  QUEUE,
  RESERVED,
  WINDOW,
} from '../../../../test/support/own-store.js';
import { StillStore } from '../../../../test/support/still-store.js';
import { boundPolicy } from '../../../../test/support/told-thresholds.js';
import type { OverrideChange } from '../layers/overrides/override.js';

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

it('the end waits for what the store was asked', async () => {
  const store = new OwnStore();
  const { engine, layered } = opened(store);
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
  expect(await limiter.consume('api', ADA)).toMatchObject({ decidedBy: 'override', allowed: true });
  expect(monitor.stats().sources).toMatchObject({ store: 2, override: 1 });
  const [wide, plain] = ['wide', 'plain'].map((name) => boundPolicy({ ...WINDOW, name, scope: 'app' }));
  expect(engine.overriddenCharge(wide!, 'user:ada')).toMatchObject({ mode: 'peek', policy: { numbers: { limit: 1 } } });
  expect(engine.overriddenCharge(plain!, 'user:ada') ?? engine.overrideOf(plain!, 'user:ada')).toBeUndefined();
  expect(engine.overrideOf(wide!, 'user:ada')).toMatchObject({ change: { limit: 1 } });
});
