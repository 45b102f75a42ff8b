import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DrawnSample, MAX_DRAWN_PER_SECOND } from './drawn-sample.js';
import type { DrawnRequests } from './surge-tick.js';

it('draws at most 40 requests per second of a steady demand, and tells of how many each is one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 5 }), (demand, seconds) => {
      const sample = new DrawnSample(demand);
      for (let i = 0; i < demand * seconds; i++) sample.note((i * 1000) / demand);
      const { oneOf, sent } = sample.take();
      expect(sent.length).toBe(Math.min(400, Math.ceil((demand * seconds) / oneOf)));
      expect(demand / oneOf).toBeLessThanOrEqual(MAX_DRAWN_PER_SECOND);
      expect(oneOf === 1).toBe(demand <= MAX_DRAWN_PER_SECOND);
    }),
    { numRuns: 50 },
  );
});

it('gives each drawn request one answer, in its tick or a later one, and keeps all answers for pages that come later', () => {
  const event = fc.oneof(
    fc.record({ type: fc.constant('sent' as const) }),
    fc.record({ type: fc.constant('answered' as const), which: fc.nat() }),
    fc.record({ type: fc.constant('take' as const) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), fc.integer({ min: 1, max: 400 }), (events, demand) => {
      const sample = new DrawnSample(demand);
      const open: { answer: NonNullable<ReturnType<DrawnSample['note']>>; sentAtMs: number }[] = [];
      const ticks: DrawnRequests[] = [];
      events.forEach((one, atMs) => {
        if (one.type === 'sent') {
          const answer = sample.note(atMs);
          if (answer !== undefined) open.push({ answer, sentAtMs: atMs });
        } else if (one.type === 'take') {
          ticks.push(sample.take());
        } else if (open.length > 0) {
          open.splice(one.which % open.length, 1)[0]!.answer('refused', atMs);
        }
      });
      for (const { answer } of open) answer('failed', events.length);
      ticks.push(sample.take());
      const sent = new Map(ticks.flatMap((tick) => tick.sent));
      const answered = ticks.flatMap((tick) => tick.answered);
      expect(answered.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([...sent.keys()]);
      for (const { id, dot } of answered) {
        const [atMs, tookMs] = dot;
        expect(atMs).toBe(sent.get(id));
        expect(tookMs).toBeGreaterThanOrEqual(0);
      }
      expect(sample.dots).toEqual(answered.map(({ dot }) => dot));
      const seen = new Set<number>();
      for (const tick of ticks) {
        for (const [id] of tick.sent) seen.add(id);
        for (const { id } of tick.answered) expect(seen.has(id)).toBe(true);
      }
    }),
  );
});

it('drops older requests while no one takes them', () => {
  const sample = new DrawnSample(1);
  for (let i = 0; i < 1000; i++) sample.note(i)!('served', i);
  const { sent, answered } = sample.take();
  expect([sent.length, answered.length]).toEqual([400, 400]);
  expect(sent.at(-1)).toEqual([1000, 999]);
  expect(sample.dots).toHaveLength(1000);
});
