import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, Param } from '@nestjs/common';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryStore, type Policy, RateLimit } from 'nestjs-floodgate';
import type { Charge, Verdict } from 'nestjs-floodgate/testing';
import { limited } from '../../support/http-app.js';

const GAP_MS = 20;
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 8, drain: `1/${GAP_MS}ms`, by: 'global' };

interface Slot {
  /** The decision and the departure, in milliseconds of this process's monotonic clock. */
  readonly decided: number;
  readonly departs: number;
}

/** A `MemoryStore` that records the slots that it gives. */
class SlotStore extends MemoryStore {
  readonly slots: Slot[] = [];

  override consume(charges: readonly Charge[]): Verdict {
    const verdict = super.consume(charges);
    const decided = verdict.at / 1000 - performance.timeOrigin;
    if (verdict.allowed) this.slots.push({ decided, departs: decided + verdict.charges[0]!.delay / 1000 });
    return verdict;
  }
}

let arrivals: { readonly at: number; readonly id: string }[] = [];

@Controller()
class Queue {
  @Get('queue/:id')
  @RateLimit(QUEUE)
  enter(@Param('id') id: string): void {
    arrivals.push({ at: performance.now(), id });
  }
}

beforeEach(() => {
  arrivals = [];
});

describe('a leaky bucket', () => {
  it('gives slots in order, and passes each request at its slot and never before it', async () => {
    const store = new SlotStore();
    await using app = await limited('Express', Queue, { store });
    const replies = [];
    for (let i = 0; i < 9; i++) {
      replies.push(app.send(`/queue/${i}`));
      while (store.slots.length <= i) await turn(); // the next request is sent when this one has its slot
    }
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual(Array(9).fill(200));
    // Slots are a gap apart, and nobody passes early. So only a request that is a gap late can be overtaken.
    expect(arrivals.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(arrivals.filter(({ at, id }) => store.slots[Number(id)]!.departs - at > 0.001)).toEqual([]);
    // A slot is one gap after the previous slot, or at the decision.
    let next = -Infinity;
    for (const { decided, departs } of store.slots) {
      expect(departs).toBeCloseTo(Math.max(next, decided), 2);
      next = departs + GAP_MS;
    }
  });
});
