import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { histories, HISTORY_TIMEOUT_MS } from '../../support/property-runs.js';
import { open, turns } from './support/scheduled-calls.js';

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
