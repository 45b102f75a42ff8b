import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { histories, HISTORY_TIMEOUT_MS } from '../../support/property-runs.js';
import { open, pass, turns } from './support/scheduled-calls.js';

it(
  'admits what the bucket has, in the order of the calls, whatever leaves meanwhile',
  async () => {
    const arrivals = fc.array(
      fc.record({
        afterMs: fc.integer({ min: 0, max: 700 }),
        cost: fc.integer({ min: 1, max: 2 }),
        abortsAfterMs: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined }),
        maxWait: fc.constantFrom(0, 500, 2_500, Infinity),
      }),
      { minLength: 1, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(arrivals, async (calls) => {
        await using opened = await open();
        const { clock, limiter } = opened;
        const ran: { i: number; at: number; cost: number }[] = [];
        const since = clock.nowMs;
        const aborts: { at: number; abort: AbortController }[] = [];
        const results: Promise<unknown>[] = [];
        let next = 0;
        let due = calls[0]!.afterMs;
        for (let at = 0; at < 30_000; at += 100) {
          while (next < calls.length && due <= at) {
            const i = next++;
            const { cost, abortsAfterMs, maxWait } = calls[i]!;
            const abort = new AbortController();
            if (abortsAfterMs !== undefined) aborts.push({ at: at + abortsAfterMs, abort });
            const run = (): void => void ran.push({ i, at: clock.nowMs - since, cost });
            const result = limiter.schedule('partner', run, { cost, maxWait, signal: abort.signal });
            results.push(result.catch((error: unknown) => error));
            due += calls[next]?.afterMs ?? 0;
          }
          for (const one of aborts) if (one.at <= at) one.abort.abort();
          await turns(2);
          clock.advance(100);
          await turns(2);
        }
        await Promise.all(results);
        expect(ran.map(({ i }) => i)).toEqual(ran.map(({ i }) => i).toSorted((a, b) => a - b));
        for (let from = 0; from < ran.length; from++) {
          let sum = 0;
          for (let to = from; to < ran.length; to++) {
            sum += ran[to]!.cost;
            expect(sum).toBeLessThanOrEqual(2 + (ran[to]!.at - ran[from]!.at) / 1000);
          }
        }
        expect(opened.runtime.parts.queue.size).toBe(0);
        expect(clock.waiting).toBe(0);
      }),
      histories(0.6),
    );
  },
  HISTORY_TIMEOUT_MS,
);

it(
  'admits what two policies have, each by a cost of its own, in the order of the calls',
  async () => {
    const policies = {
      requests: { algorithm: 'token-bucket', capacity: 3, refill: 1, by: 'global' },
      tokens: { algorithm: 'token-bucket', capacity: 9, refill: 2, by: 'global' },
    } as const;
    const arrivals = fc.array(
      fc.record({
        afterMs: fc.constantFrom(0, 0, 0, 300, 1_500),
        cost: fc.record({ requests: fc.integer({ min: 1, max: 3 }), tokens: fc.integer({ min: 1, max: 9 }) }),
        leavesAfterMs: fc.option(fc.integer({ min: 0, max: 5_000 }), { nil: Infinity }),
      }),
      { minLength: 1, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(arrivals, async (calls) => {
        await using opened = await open({ policies });
        const { clock, limiter } = opened;
        const ran: { i: number; at: number }[] = [];
        const results: Promise<unknown>[] = [];
        for (const [i, { afterMs, cost, leavesAfterMs: maxWait }] of calls.entries()) {
          await pass(clock, afterMs, 100);
          const run = (): void => void ran.push({ i, at: clock.nowMs });
          results.push(
            limiter.schedule(['requests', 'tokens'], run, { cost, maxWait }).catch((error: unknown) => error),
          );
          await turns();
        }
        await pass(clock, 90_000, 500);
        await Promise.all(results);
        expect(ran.map(({ i }) => i)).toEqual(ran.map(({ i }) => i).toSorted((a, b) => a - b));
        for (const [name, { capacity, refill }] of Object.entries(policies)) {
          for (let from = 0; from < ran.length; from++) {
            let sum = 0;
            for (let to = from; to < ran.length; to++) {
              sum += calls[ran[to]!.i]!.cost[name as keyof typeof policies];
              expect(sum).toBeLessThanOrEqual(capacity + (refill * (ran[to]!.at - ran[from]!.at)) / 1000);
            }
          }
        }
        expect(opened.runtime.parts.queue.size).toBe(0);
        expect(clock.waiting).toBe(0);
      }),
      histories(0.6),
    );
  },
  HISTORY_TIMEOUT_MS,
);
