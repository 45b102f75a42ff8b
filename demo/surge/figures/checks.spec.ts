import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Observation } from '../../riders/index.js';
import { doubleMatched, overAdmitted, RIDER_LIMITS } from './checks.js';

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
});

describe('doubleMatched', () => {
  const TRIP_MS = 10_000;
  const match = (sentAt: number, answeredAt: number, driverId = 'd'): Observation =>
    observation({ sentAt, answeredAt, driverId });

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
