import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { RiderMeter } from './rider-meter.js';
import type { Rides, RunPhase } from './surge-tick.js';

const PHASES: readonly RunPhase[] = ['surge', 'recovery'];

const ROUTES = ['rides', 'fares', 'nearby'] as const;

const request = fc.record({
  route: fc.constantFrom(...ROUTES),
  sentAtMs: fc.nat(6000),
  /** Undefined: no answer yet. */
  tookMs: fc.option(fc.nat(4000), { nil: undefined }),
  status: fc.constantFrom(200, 201, 429, 404, 503, 0),
  hasDriver: fc.boolean(),
});

/** Phases of two seconds. */
const phaseAt = (ms: number): RunPhase => PHASES[Math.min(2, Math.floor(ms / 2000))]!;

it('counts each request in the phase in which it was sent, whenever its answer comes', () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 80 }), (requests) => {
      const meter = new RiderMeter();
      const events = requests.map((one) => ({
        ...one,
        answered: undefined as ReturnType<RiderMeter['sent']> | undefined,
      }));
      for (const one of events.toSorted((a, b) => a.sentAtMs - b.sentAtMs)) {
        one.answered = meter.sent(phaseAt(one.sentAtMs), one.sentAtMs, one.route);
      }
      const answered = events.filter((one) => one.tookMs !== undefined);
      for (const one of answered.toSorted((a, b) => a.sentAtMs + a.tookMs! - (b.sentAtMs + b.tookMs!))) {
        const answer = one.hasDriver ? { status: one.status, driverId: 'd' } : { status: one.status };
        one.answered!(answer, one.sentAtMs + one.tookMs!);
      }
      const isServed = (status: number): boolean => status === 200 || status === 201;
      /** A ride that was found no driver for has failed. */
      const ridesOf = (phase: RunPhase): Rides => {
        const sent = requests.filter(({ route, sentAtMs }) => route === 'rides' && phaseAt(sentAtMs) === phase);
        const had = sent.filter(({ tookMs }) => tookMs !== undefined);
        const served = had.filter(({ status, hasDriver }) => isServed(status) && hasDriver).length;
        const refused = had.filter(({ status }) => status === 429).length;
        return { sent: sent.length, served, refused, failed: had.length - served - refused };
      };
      for (const phase of PHASES) {
        const sent = requests.filter(({ sentAtMs }) => phaseAt(sentAtMs) === phase);
        const had = sent.filter(({ tookMs }) => tookMs !== undefined);
        const refused = had.filter(({ status }) => status === 429);
        const served = had.filter(({ status }) => isServed(status));
        const failed = had.filter(({ status }) => status !== 429 && !isServed(status));
        const full = failed.filter(({ status }) => status === 503);
        const others = failed.filter(({ status }) => status !== 503).map(({ tookMs }) => tookMs!);
        expect(meter.figuresOf(phase, 2, null)).toEqual({
          seconds: 2,
          sent: sent.length,
          served: served.length,
          refused: refused.length,
          failed: failed.length,
          full: full.length,
          medianMs: rank(
            had.filter(({ status }) => status !== 429),
            50,
          ),
          p99Ms: rank(
            had.filter(({ status }) => status !== 429),
            99,
          ),
          refusedP99Ms: rank(refused, 99),
          fullP99Ms: rank(full, 99),
          longestFailureMs: others.length === 0 ? null : Math.max(...others),
          rides: ridesOf(phase),
          recoveredAfterS: null,
        });
        expect(meter.ridesOf(phase)).toEqual(ridesOf(phase));
        expect(meter.isSettled(phase)).toBe(sent.length === had.length);
      }
      expect(meter.total).toBe(requests.length);
    }),
  );
});

/** The shortest time that at least so many percent of the answers took at most. */
function rank(answers: readonly { readonly tookMs: number | undefined }[], percent: number): number | null {
  const times = answers.map(({ tookMs }) => tookMs!);
  if (times.length === 0) return null;
  const atMost = (limit: number): number => times.filter((time) => time <= limit).length;
  return Math.min(...times.filter((time) => 100 * atMost(time) >= percent * times.length));
}
