import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Observation } from '../../libs/riders/index.js';
import { doubleMatched, excess, overAdmitted, RIDER_LIMITS } from './checks.js';

const observation = (some: Partial<Observation>): Observation => ({
  route: 'rides',
  rider: 0,
  attempt: 1,
  pod: 0,
  dueAt: 0,
  sentAt: 0,
  answeredAt: 0,
  status: 200,
  ...some,
});

/** The requests that a bucket admits, given the instants of decision, sending and answer. */
function admittedBy(
  { capacity, refill }: { capacity: number; refill: number },
  requests: readonly { decidedAt: number; sentBefore: number; answeredAfter: number }[],
): Observation[] {
  let tokens = capacity;
  let last = 0;
  return requests
    .toSorted((a, b) => a.decidedAt - b.decidedAt)
    .flatMap(({ decidedAt, sentBefore, answeredAfter }) => {
      tokens = Math.min(capacity, tokens + (refill * (decidedAt - last)) / 1000);
      last = decidedAt;
      if (tokens < 1) return [];
      tokens--;
      return [observation({ sentAt: decidedAt - sentBefore, answeredAt: decidedAt + answeredAfter })];
    });
}

const requests = fc.array(fc.record({ decidedAt: fc.nat(5000), sentBefore: fc.nat(50), answeredAfter: fc.nat(300) }), {
  maxLength: 150,
});

describe('overAdmitted', () => {
  it('is 0 for a limiter that admits no more than capacity + refill x time', () => {
    fc.assert(
      fc.property(requests, (sent) => {
        expect(overAdmitted(admittedBy(RIDER_LIMITS.rides, sent))).toBe(0);
      }),
    );
  });

  it('counts every excess request of a burst', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(99), (tooMany, withinMs) => {
        const burst = Array.from({ length: 20 + tooMany }, () => observation({ answeredAt: withinMs }));
        expect(overAdmitted(burst)).toBe(tooMany);
      }),
    );
  });

  it('counts excess requests after a pause, even if the total is small', () => {
    const early = Array.from({ length: 5 }, () => observation({}));
    const burst = Array.from({ length: 23 }, () => observation({ sentAt: 60_000, answeredAt: 60_010 }));
    expect(overAdmitted([...early, ...burst])).toBe(3);
  });

  it('counts each rider and route separately, in its worst interval', () => {
    const many = (some: Partial<Observation>, count: number): Observation[] =>
      Array.from({ length: count }, () => observation(some));
    expect(
      overAdmitted([
        ...many({ rider: 1, route: 'rides' }, 21),
        ...many({ rider: 1, route: 'nearby' }, 30),
        ...many({ rider: 2, route: 'nearby' }, 32),
        ...many({ rider: 3, route: 'fares' }, 20),
      ]),
    ).toBe(3);
  });

  it('treats a 503 as admitted, but not a 429 or a lost answer', () => {
    const statuses = [...Array.from({ length: 21 }, () => 503), ...Array.from({ length: 50 }, () => 429), 0, 0];
    expect(overAdmitted(statuses.map((status) => observation({ status })))).toBe(1);
  });
});

describe('excess', () => {
  const bucket = { capacity: 60, refill: 150 };

  it('is 0 for the requests that a bucket admits, from any start', () => {
    fc.assert(
      fc.property(requests, fc.array(fc.nat(5000), { maxLength: 10 }), (sent, starts) => {
        expect(excess(admittedBy({ capacity: 20, refill: 10 }, sent), { capacity: 20, refill: 10 }, starts)).toBe(0);
      }),
    );
  });

  it('finds the worst interval from each start', () => {
    const admitted = Array.from({ length: 70 }, () => ({ sentAt: 1000, answeredAt: 1010 }));
    expect(excess(admitted, bucket, [0])).toBe(0);
    expect(excess(admitted, bucket, [0, 1000])).toBe(9);
  });
});

describe('doubleMatched', () => {
  const TRIP_MS = 10_000;
  const match = (sentAt: number, answeredAt: number, driverId = 'd'): Observation =>
    observation({ sentAt, answeredAt, driverId });

  it('counts a driver that two riders got', () => {
    expect(doubleMatched([match(0, 100), match(5000, 5100)], TRIP_MS)).toBe(1);
    expect(doubleMatched([match(0, 100), match(0, 100), match(0, 100)], TRIP_MS)).toBe(3);
    expect(doubleMatched([match(0, 100, 'a'), match(0, 100, 'b'), observation({})], TRIP_MS)).toBe(0);
  });

  it('is 0 when matching gives a driver to another rider after the trip', () => {
    const trips = fc.array(fc.record({ idleMs: fc.nat(500), sentBefore: fc.nat(6000), answeredAfter: fc.nat(200) }), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(trips, (rides) => {
        let claimedAt = 0;
        const matches = rides.map(({ idleMs, sentBefore, answeredAfter }) => {
          claimedAt += TRIP_MS + idleMs;
          return match(claimedAt - sentBefore, claimedAt + answeredAfter);
        });
        expect(doubleMatched(matches, TRIP_MS)).toBe(0);
      }),
    );
  });
});
