import * as fc from 'fast-check';
import type { Algorithm } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import type { Verdict } from '../../libs/floodgate/src/stores/store.js';

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;

/** How the clock moves before the next requests; it may depend on the policies and on the answers so far. */
export type Move =
  | { readonly by: number }
  /** By a number of the first policy's periods or windows, or to one of their next edges; plus `off` microseconds. */
  | { readonly periods: number; readonly off: number }
  | { readonly edge: number; readonly off: number }
  /** To the retryAfter of the last rejected request; plus `off` microseconds. */
  | { readonly retry: true; readonly off: number };

const off = fc.constantFrom(0, 0, -1, 1);

export const forwards: fc.Arbitrary<Move> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ by: 0 }) },
  { weight: 1, arbitrary: fc.record({ by: fc.integer({ min: 0, max: 10 }) }) },
  { weight: 2, arbitrary: fc.record({ by: fc.integer({ min: 0, max: 2 * SECOND }) }) },
  { weight: 3, arbitrary: fc.record({ periods: fc.constantFrom(0.3, 0.5, 1, 2, 3.7), off }) },
  { weight: 3, arbitrary: fc.record({ edge: fc.integer({ min: 1, max: 2 }), off }) },
  { weight: 3, arbitrary: fc.record({ retry: fc.constant(true as const), off }) },
  { weight: 1, arbitrary: fc.record({ by: fc.integer({ min: DAY, max: 400 * DAY }) }) },
);

/** Forwards and back, by less than the minute that stores keep states longer. */
export const anywhere: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: forwards },
  { weight: 1, arbitrary: fc.record({ by: fc.integer({ min: -30 * SECOND, max: 0 }) }) },
  { weight: 1, arbitrary: fc.record({ by: fc.integer({ min: -2_000, max: 0 }) }) },
);

/** Instants from 1970 on, and some at the edges of windows. */
export const starts: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, 19_900 * DAY, 19_900 * DAY - 1),
  fc.integer({ min: 0, max: 30_000 * DAY }),
);

/** The latest instant of a history: later ones could exceed 16 digits, or 2^53. */
const LAST = 40_000 * DAY;
/** How far an erratic clock may fall back behind its latest instant: stores keep states a minute longer. */
export const FALLBACK = 59 * SECOND;

/** A clock that moves through a history, and back by `fallback` at most. */
export class MovingClock {
  private latest: number;

  constructor(
    public now: number,
    private readonly fallback: number,
  ) {
    this.latest = now;
  }

  readonly read = (): number => this.now;

  move(move: Move, algorithm: Algorithm, verdicts: readonly Verdict[]): void {
    const to = Math.round(this.target(move, periodOf(algorithm), verdicts));
    this.now = Math.max(0, this.latest - this.fallback, Math.min(to, LAST));
    this.latest = Math.max(this.latest, this.now);
  }

  private target(move: Move, period: number, verdicts: readonly Verdict[]): number {
    if ('by' in move) return this.now + move.by;
    if ('periods' in move) return this.now + move.periods * period + move.off;
    if ('edge' in move) return this.now - (this.now % period) + move.edge * period + move.off;
    const rejected = verdicts.findLast(({ allowed }) => !allowed);
    const waits = rejected?.charges.map(({ retryAfter }) => retryAfter).filter(Number.isFinite) ?? [];
    return this.now + Math.max(0, ...waits) + move.off;
  }
}

/** The length of a window, or the time of a token or departure. */
export function periodOf({ name, wire }: Algorithm): number {
  const [first, second] = wire.numbers as [number, number];
  return name.endsWith('bucket') ? Math.ceil(second / first) : second;
}
