import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Gate } from './gate.js';
import type { ScheduledCall } from './scheduled-call.js';

/** A call of a gate, which counts how often it is looked at. */
class Call {
  static looks = 0;
  readonly charges: ScheduledCall['charges'];
  private over = false;

  constructor(
    readonly order: number,
    cost = 1,
  ) {
    this.charges = [{ key: 'key', cost }] as unknown as ScheduledCall['charges'];
  }

  get isOver(): boolean {
    Call.looks++;
    return this.over;
  }

  leave(gate: Gate): ScheduledCall | undefined {
    this.over = true;
    return gate.forget(this as unknown as ScheduledCall);
  }
}

const asCall = (call: Call): ScheduledCall => call as unknown as ScheduledCall;

it('keeps the order of its calls, and says which is next when the first one leaves', () => {
  const step = fc.oneof(
    fc.record({ add: fc.nat(99) }),
    fc.record({ leave: fc.nat(99) }),
    fc.record({ take: fc.boolean() }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const gate = new Gate('key', 'key');
      let waiting: Call[] = [];
      const orders = new Set<number>();
      const seen: unknown[] = [];
      const wanted: unknown[] = [];
      for (const one of steps) {
        if ('add' in one) {
          if (orders.has(one.add)) continue;
          orders.add(one.add);
          const call = new Call(one.add);
          waiting = [...waiting, call].toSorted((a, b) => a.order - b.order);
          gate.add(asCall(call));
        } else if ('leave' in one) {
          const call = waiting[one.leave % waiting.length];
          if (call === undefined) continue;
          const isFirst = call === waiting[0];
          waiting = waiting.filter((other) => other !== call);
          seen.push(call.leave(gate));
          wanted.push(isFirst ? waiting[0] : undefined);
        } else {
          const taken = gate.take();
          seen.push(taken, taken.length > 0);
          wanted.push(waiting.slice(0, taken.length), waiting.length > 0);
          waiting = waiting.slice(taken.length);
          if (one.take) gate.grow(Infinity);
          else gate.shrink();
        }
        seen.push(gate.size);
        wanted.push(waiting.length);
      }
      expect(seen).toEqual(wanted);
    }),
  );
});

it.each(['from the first one', 'from the last one'])(
  'forgets 20,000 calls in a time that grows with them, %s',
  (from) => {
    const gate = new Gate('key', 'key');
    const calls = Array.from({ length: 20_000 }, (_, i) => new Call(i));
    for (const call of calls) gate.add(asCall(call));
    Call.looks = 0;
    for (const call of from === 'from the first one' ? calls : calls.toReversed()) call.leave(gate);
    expect(gate.size).toBe(0);
    expect(Call.looks).toBeLessThan(10 * calls.length);
  },
);
