import { describe, expect, it } from '@jest/globals';
import { FixedWindow } from '../../algorithms/fixed-window/fixed-window.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import type { Charge, ChargeReceipt, Verdict } from '../../stores/store.js';
import { OpenCharges } from './open-charges.js';

const MINUTE = 60_000_000;
const DAY = 24 * 60 * MINUTE;

/** A store and what is open in it, on a clock that the test sets. */
function setUp(limit = 5) {
  const time = { now: 20_000 * DAY };
  const store = new MemoryStore({ clock: () => time.now });
  const uncertain: string[] = [];
  const open = new OpenCharges((keys) => void uncertain.push(...keys));
  const algorithm = new FixedWindow(limit, DAY);
  const charge = (mode: Charge['mode'] = 'reserve', key = 'ada', cost = 1): Charge => ({
    key,
    policyKey: 'policy',
    algorithm,
    cost,
    mode,
  });
  const ask = (one: Charge): Verdict =>
    open.concerns([one]) ? open.decide([one], (asked) => store.consume(asked)) : store.consume([one]);
  const reserve = (key?: string): ChargeReceipt => ask(charge('reserve', key)).charges[0]!.receipt!;
  return { time, store, open, uncertain, charge, ask, reserve };
}

const ESTIMATE = { allowed: false, retryAfter: 1_000_000, estimated: true };

describe('OpenCharges', () => {
  it('keeps nothing of a request that fails or is rejected, or that is reset', async () => {
    const { open, charge, ask, reserve } = setUp();
    const fails = (): never => {
      throw new Error('away');
    };
    expect(() => open.decide([charge()], fails)).toThrow('away');
    await expect(open.decide([charge()], async () => fails())).rejects.toThrow('away');
    expect(ask(charge('reserve', 'ada', 9)).allowed).toBe(false);
    expect(open.concerns([charge('take')])).toBe(false);
    for (let i = 0; i < 5; i++) reserve();
    open.forget(['ada', 'bob']);
    expect([open.size, open.concerns([charge('take')])]).toEqual([0, false]);
    expect(ask(charge()).charges[0]).toMatchObject({ retryAfter: DAY });
  });

  it('does not count on a charge that nobody has settled for ten minutes', () => {
    const { open, time, charge, ask, reserve } = setUp();
    for (let i = 0; i < 5; i++) reserve();
    time.now += 10 * MINUTE - 1;
    expect(ask(charge()).charges[0]).toMatchObject(ESTIMATE);
    time.now += 1;
    expect(ask(charge()).charges[0]).toMatchObject({ retryAfter: DAY - 10 * MINUTE });
    expect(open.size).toBe(0);
  });

  it('keeps the newest 1,000 of a key, and 100,000 of all', () => {
    const { store, open, charge, ask, reserve } = setUp(3_000);
    const receipts = Array.from({ length: 3_000 }, () => reserve());
    expect(open.size).toBe(1_000);
    expect(ask(charge('reserve', 'ada', 1_000)).charges[0]).toMatchObject(ESTIMATE);
    expect(ask(charge('reserve', 'ada', 1_001)).charges[0]).toMatchObject({ retryAfter: DAY });
    for (const receipt of receipts) open.close(charge(), receipt);
    expect(open.size).toBe(0);
    const verdict = store.consume([charge('reserve', 'any')]);
    for (let i = 0; i < 100_001; i++) void open.decide([charge('reserve', `key ${i}`)], () => verdict);
    expect(open.size).toBe(100_000);
  });
});
