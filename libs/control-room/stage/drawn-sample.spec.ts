import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Answer, RiderRequest } from '../../riders/index.js';
import { Rider } from '../../riders/index.js';
import { DrawnSample, MAX_DRAWN_PER_SECOND } from './drawn-sample.js';
import type { DrawnRequests } from './surge-tick.js';

const request = (index: number): RiderRequest => new Rider(1, index).next();

it('draws at most 50 requests per second of a steady demand, and tells of how many each is one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 5 }), (demand, seconds) => {
      const sample = new DrawnSample();
      sample.expect(demand);
      for (let i = 0; i < demand * seconds; i++) sample.note(request(i % 7), false, (i * 1000) / demand);
      const { oneOf, sent } = sample.take();
      expect(sent.length).toBe(Math.min(400, Math.ceil((demand * seconds) / oneOf)));
      expect(demand / oneOf).toBeLessThanOrEqual(MAX_DRAWN_PER_SECOND);
      expect(oneOf === 1).toBe(demand <= MAX_DRAWN_PER_SECOND);
    }),
    { numRuns: 50 },
  );
});

it('gives each drawn request one answer, in its tick or a later one, however the demand changes', () => {
  const event = fc.oneof(
    fc.record({ type: fc.constant('sent' as const), isFollowed: fc.boolean() }),
    fc.record({ type: fc.constant('answered' as const), which: fc.nat() }),
    fc.record({ type: fc.constant('demand' as const), demand: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ type: fc.constant('take' as const) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      const sample = new DrawnSample();
      const open: ReturnType<DrawnSample['note']>[] = [];
      const ticks: DrawnRequests[] = [];
      const answer: Answer = { status: 429, policy: 'rider', retryAfterMs: 70 };
      let followed = 0;
      events.forEach((one, atMs) => {
        if (one.type === 'demand') sample.expect(one.demand);
        else if (one.type === 'take') ticks.push(sample.take());
        else if (one.type === 'sent') {
          const draw = sample.note(request(1), one.isFollowed, atMs);
          if (one.isFollowed) followed++;
          open.push(draw);
        } else if (open.length > 0) open.splice(one.which % open.length, 1)[0]?.(answer, atMs);
      });
      for (const draw of open.splice(0)) draw?.(answer, 1000);
      ticks.push(sample.take());
      const seen = new Set<number>();
      const answered = new Set<number>();
      for (const tick of ticks) {
        for (const { id } of tick.sent) {
          expect(seen.has(id)).toBe(false);
          seen.add(id);
        }
        for (const { id, outcome, policy, retryAfterMs } of tick.answered) {
          expect([seen.has(id), answered.has(id), outcome, policy, retryAfterMs]).toEqual([
            true,
            false,
            'refused',
            'rider',
            70,
          ]);
          answered.add(id);
        }
      }
      expect(answered).toEqual(seen);
      const followedSent = ticks.flatMap(({ sent }) => sent.filter(({ isFollowed }) => isFollowed));
      expect(followedSent).toHaveLength(followed);
    }),
  );
});

it('keeps little without a viewer', () => {
  const sample = new DrawnSample();
  for (let i = 0; i < 5000; i++) sample.note(request(1), false, i)!({ status: 0 }, i);
  const { sent, answered } = sample.take();
  expect([sent.length, answered.length]).toEqual([400, 400]);
  expect(answered.at(-1)).toEqual({
    id: 5000,
    atMs: 4999,
    outcome: 'failed',
    status: 0,
    retryAfterMs: null,
    policy: null,
  });
});
