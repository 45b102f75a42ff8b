import { describe, expect, it } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import { histories } from '../../../../../test/support/property-runs.js';
import type { HeldLease } from './leases.js';
import { PendingCharge, type ReservedStep } from './pending-charge.js';
import type { PolicyCharge } from '../policy-charge.js';

const CHARGE = { key: 'key', policy: { name: 'policy' }, algorithm: { delays: false } } as unknown as PolicyCharge;
const { policy } = CHARGE;
const COST = 10;

/** Calls that share one charge, as the fields of an operation do. Their functions answer when the test says. */
class Calls {
  readonly pending = new PendingCharge(CHARGE, undefined);
  readonly step = { receipt: {}, receipts: [], cost: COST } as unknown as ReservedStep;
  readonly settled: (readonly (readonly [ReservedStep, number])[])[] = [];
  private readonly running = new Map<number, object>();
  private readonly functions: ((cost: number) => void)[] = [];
  private readonly settlements: Promise<void>[] = [];
  ended = 0;

  constructor() {
    this.pending.add(this.step);
  }

  join(call: number): void {
    if (this.running.has(call) || this.pending.finalCost !== undefined) return;
    this.running.set(call, {});
    this.pending.join(this.running.get(call)!, policy);
  }

  end(call: number): void {
    const running = this.running.get(call);
    if (running === undefined) return;
    this.running.delete(call);
    this.ended++;
    this.pending.end(running, {} as never, async () => new Promise((answer) => this.functions.push(answer)));
    this.settleIdle();
  }

  leave(call: number): void {
    const running = this.running.get(call);
    if (running === undefined) return;
    this.running.delete(call);
    this.pending.leave(running);
    this.settleIdle();
  }

  /** The oldest function that has not answered does. */
  async answer(cost: number): Promise<void> {
    this.functions.shift()?.(cost);
    for (let i = 0; i < 4; i++) await Promise.resolve();
  }

  async finish(cost: number): Promise<void> {
    for (const call of this.running.keys()) this.end(call);
    while (this.functions.length > 0) await this.answer(cost);
    await Promise.all(this.settlements);
  }

  get isRunning(): boolean {
    return this.running.size > 0;
  }

  private settleIdle(): void {
    if (!this.pending.isIdle) return;
    // Another policy's function may take its time between the answer and the settlement.
    const settle = async (): Promise<void> => {
      const decided = await this.pending.decided();
      await Promise.resolve();
      const parts = decided?.() ?? [];
      if (parts.length === 0) return;
      expect(this.isRunning).toBe(false);
      this.settled.push(parts);
    };
    this.settlements.push(settle());
  }
}

describe('a charge that several calls share', () => {
  it('is settled once, when the last of them has ended, at the highest of their costs', async () => {
    const action = record({
      what: constantFrom('join', 'end', 'leave', 'answer'),
      call: integer({ min: 0, max: 3 }),
      cost: integer({ min: 0, max: 2 * COST }),
    });
    await assert(
      asyncProperty(
        array(action, { minLength: 1, maxLength: 30 }),
        integer({ min: 0, max: COST }),
        async (all, last) => {
          const calls = new Calls();
          calls.join(0);
          const costs: number[] = [];
          let open = 0;
          for (const { what, call, cost } of all) {
            if (what === 'join') calls.join(call);
            else if (what === 'leave') calls.leave(call);
            else if (what === 'end') {
              const before = calls.ended;
              calls.end(call);
              open += calls.ended - before;
            } else {
              if (open > 0) {
                open--;
                costs.push(cost);
              }
              await calls.answer(cost);
            }
          }
          const before = calls.ended;
          await calls.finish(last);
          for (let i = 0; i < open + calls.ended - before; i++) costs.push(last);
          expect(calls.settled.length).toBeLessThanOrEqual(1);
          // Calls that join after the settlement are charged anew.
          const [settlement] = calls.settled;
          expect(settlement).toEqual(settlement && [[calls.step, calls.pending.finalCost]]);
          // A charge whose calls were all rejected stays.
          expect(settlement === undefined || [...costs, COST].includes(settlement[0]![1])).toBe(true);
        },
      ),
      histories(),
    );
  });

  it('renews its lease while a call runs that has begun, and no longer', () => {
    const pending = new PendingCharge(CHARGE, undefined);
    const said: string[] = [];
    const note = (what: string) => (): void => void said.push(what);
    const lease: HeldLease = { index: 0, keep: note('keep'), lapse: note('lapse'), release: note('release') };
    const [begins, neverBegins] = [{}, {}];
    pending.join(begins, policy);
    pending.hold(lease);
    pending.join(neverBegins, policy);
    pending.begin(begins);
    pending.end(begins, {} as never, async () => undefined);
    expect([said, pending.isIdle]).toEqual([['keep', 'lapse'], false]);
    pending.begin(neverBegins);
    pending.leave(neverBegins);
    pending.release();
    expect(said).toEqual(['keep', 'lapse', 'keep', 'lapse', 'release']);
  });

  it('is charged what a later call costs beyond what was settled', async () => {
    const [first, second] = [{}, {}];
    const step = { receipt: {}, receipts: [], cost: COST } as unknown as ReservedStep;
    const before = new PendingCharge(CHARGE, undefined);
    before.add(step);
    before.join(first, policy);
    before.end(first, {} as never, async () => COST);
    expect((await before.decided())!()).toEqual([[step, COST]]);
    const after = new PendingCharge(CHARGE, before);
    after.join(second, policy);
    after.end(second, {} as never, async () => 50);
    expect((await after.decided())!()).toEqual([[step, 50]]);
    expect(after.finalCost).toBe(50);
  });
});
