import { describe, expect, it } from '@jest/globals';
import { array, assert, boolean, constantFrom, integer, property } from 'fast-check';
import { expectSame } from '../../../../../test/support/expect-same.js';
import { Judging } from '../../../../../test/support/judging.js';
import { histories } from '../../../../../test/support/property-runs.js';
import { RequestRecord } from '../../engine/requests/request-record.js';
import type { Decision } from '../../policy/decision.js';
import { ClockOffset } from './clock-offset.js';
import { decisionHeaders, type HeaderFormat } from '../headers.js';

const SECOND = 1_000_000;

function headersOf(
  headers: HeaderFormat,
  decision: Decision,
  receivedAtMs: number,
  offset: ClockOffset,
): Record<string, string> {
  return Object.fromEntries(decisionHeaders(decision, receivedAtMs, { headers, offset }));
}

/** What a request is told that the middleware has limited first, and then its route, some microseconds later. */
function afterMiddleware(middleware: Judging, route: Judging, later: number): Decision {
  const record = new RequestRecord();
  record.withEarlier(middleware.judge());
  route.clock.now = middleware.clock.now + later;
  return record.withEarlier(route.judge());
}

describe('one window has one instant', () => {
  it('whenever in it a decision comes, however late it arrives, and however far the clocks are apart', () => {
    assert(
      property(
        constantFrom(2, 5, 60, 3600),
        integer({ min: -20_000_000, max: 20_000_000 }),
        array(integer({ min: 0, max: 990_000 }), { minLength: 2, maxLength: 20 }),
        array(integer({ min: -999, max: 200_000 }), { minLength: 20, maxLength: 20 }),
        boolean(),
        (seconds, skew, shares, latencies, isMerged) => {
          const judging = new Judging([
            { name: 'default', algorithm: 'fixed-window', limit: 100, window: `${seconds}s` },
          ]);
          const start = judging.clock.now;
          const end = start + seconds * SECOND;
          const offset = new ClockOffset();
          const route = new Judging([{ name: 'roomy', algorithm: 'fixed-window', limit: 1_000_000, window: '1d' }]);
          const resets = new Set<string>();
          for (const [i, share] of shares.toSorted((a, b) => a - b).entries()) {
            judging.clock.now = start + Math.floor((share * seconds * SECOND) / SECOND);
            const told = isMerged
              ? afterMiddleware(judging, route, Math.min(latencies[i]! + 999, 5000))
              : judging.take();
            const receivedAtMs = Math.floor((judging.clock.now + skew + latencies[i]!) / 1000);
            const both = headersOf('x-ratelimit+draft-11', told, receivedAtMs, offset);
            resets.add(both['X-RateLimit-Reset']!);
            // The others count seconds from now, each rounded up once.
            const left = String(Math.ceil((end - told.decidedAtMs * 1000) / SECOND - 1e-6));
            expectSame(/;t=(\d+)/.exec(both['RateLimit']!)![1], left);
            expectSame(headersOf('throttler', told, receivedAtMs, offset)['X-RateLimit-Reset'], left);
          }
          expectSame(resets.size, 1);
        },
      ),
      histories(),
    );
  });
});

describe('the offset of the clocks', () => {
  const NOW = 1_800_000_000_000;
  const offset = new ClockOffset();
  const instant = (storeMs: number, applicationMs: number): number => offset.applied(storeMs, storeMs, applicationMs);

  it('is what the first answer shows, follows the store at once, and the application after ten seconds', () => {
    expect(instant(NOW, NOW + 3000)).toBe(NOW + 3000);
    expect(instant(NOW + 1000, NOW + 4200)).toBe(NOW + 4000);
    // An answer whose handler took three seconds is no sign of another clock.
    expect(instant(NOW + 2000, NOW + 8000)).toBe(NOW + 5000);
    expect(instant(NOW + 6000, NOW + 6000)).toBe(NOW + 6000);
    expect(instant(NOW + 7000, NOW + 12_000)).toBe(NOW + 7000);
    expect(instant(NOW + 12_000, NOW + 17_000)).toBe(NOW + 17_000);
  });
});
