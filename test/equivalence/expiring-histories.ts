import * as fc from 'fast-check';
import type { AlgorithmName } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
import { forwards, type Move } from '../support/arbitrary-instants.js';
import { type Cost, costs, policyOf } from '../support/arbitrary-policies.js';

/** What becomes of a reservation at its expiry: all of it stays, nothing, or this part of the reserved cost. */
type Rest = 'keep' | 'cancel' | number;

/** A charge of one client: of the first policy alone, or of both. */
export interface Ask {
  readonly client: number;
  readonly cost: Cost;
  readonly both: boolean;
  readonly mode: 'take' | 'reserve';
  /** Undefined: it never expires. `after` is in milliseconds, or in periods of the first policy. */
  readonly expiry:
    { readonly after: { readonly ms: number } | { readonly periods: number }; readonly rest: Rest } | undefined;
}

/** What the caller of a reservation does: it comes to a part of the reserved cost, plus units. */
export type Close =
  | { readonly settle: number; readonly part: number; readonly plus: number }
  | { readonly cancel: number }
  | { readonly again: number };

export type Act = Ask | Close;

/** What happens at one instant. A process does all acts of a turn, or looks for reservations of others. */
export type Turn =
  | { readonly process: number; readonly acts: readonly Act[] }
  | { readonly process: number; readonly does: 'die' | 'stall' | 'wake' | 'sweep' };

/** How the clock moves: also to the instant at which an open reservation expires, plus `off` microseconds. */
export type Step = Move | { readonly expiry: number; readonly off: number };

export interface ExpiringHistory {
  readonly policy: Policy;
  /** Whether settlements may exceed the limit. */
  readonly overdraws: boolean;
  /** The limit of the second policy. */
  readonly second: number;
  readonly start: number;
  /** The most reservations that a process settles at their expiry. */
  readonly mostOpen: number;
  readonly maxSkewMs: number;
  readonly steps: readonly { readonly move: Step; readonly turn: Turn }[];
}

const DAY = 86_400_000_000;
/**
 * From 2005 to 2008. Until 2039 the milliseconds of an instant are doubles of one exponent, so that an instant and a whole number of
 * milliseconds add up without an error.
 */
const starts = fc.integer({ min: 13_000 * DAY, max: 14_000 * DAY });
const LONGEST_MS = 7 * 86_400_000;

const after = fc.oneof(
  fc.record({ ms: fc.constantFrom(1, 1_000, 60_000, LONGEST_MS) }),
  fc.record({ ms: fc.integer({ min: 1, max: 5_000 }) }),
  fc.record({ periods: fc.constantFrom(0.3, 1, 2, 5) }),
);
const rest = fc.constantFrom<Rest>('keep', 'cancel', 'cancel', 0.3, 0.9);
const ask: fc.Arbitrary<Ask> = fc.record({
  client: fc.constantFrom(0, 0, 1),
  cost: costs,
  both: fc.boolean(),
  mode: fc.constantFrom('take' as const, 'reserve' as const, 'reserve' as const, 'reserve' as const),
  expiry: fc.option(fc.record({ after, rest }), { freq: 4, nil: undefined }),
});
const pick = fc.nat({ max: 4 });
const close: fc.Arbitrary<Close> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      settle: pick,
      part: fc.constantFrom(0, 0, 0.1, 0.5, 1, 1, 2),
      plus: fc.integer({ min: -1, max: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ cancel: pick }) },
  { weight: 1, arbitrary: fc.record({ again: pick }) },
);
const acts = fc.oneof(
  fc.array(ask, { minLength: 1, maxLength: 4 }),
  fc.array(close, { minLength: 1, maxLength: 3 }),
  fc.array(fc.oneof(ask, close), { minLength: 1, maxLength: 4 }),
);
const process = fc.constantFrom(0, 0, 1, 2);
const turn: fc.Arbitrary<Turn> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ process, acts }) },
  {
    weight: 3,
    arbitrary: fc.record({ process, does: fc.constantFrom('stall' as const, 'stall' as const, 'wake' as const) }),
  },
  { weight: 1, arbitrary: fc.record({ process, does: fc.constant('die' as const) }) },
  { weight: 3, arbitrary: fc.record({ process, does: fc.constant('sweep' as const) }) },
);
const move: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ by: 0 }) },
  { weight: 4, arbitrary: fc.record({ expiry: pick, off: fc.constantFrom(0, 0, -1, 1) }) },
  { weight: 3, arbitrary: forwards },
);

export function expiringHistoriesOf(name: AlgorithmName): fc.Arbitrary<ExpiringHistory> {
  return fc.record({
    policy: policyOf(name),
    overdraws: fc.boolean(),
    second: fc.integer({ min: 1, max: 30 }),
    start: starts,
    mostOpen: fc.constantFrom(2, 1_000, 1_000),
    maxSkewMs: fc.constantFrom(0, 0, 1_000),
    steps: fc.array(fc.record({ move, turn }), { minLength: 2, maxLength: 25, size: '+1' }),
  });
}

/** Whole milliseconds that a reservation may stay open. */
export function openFor({ after: given }: NonNullable<Ask['expiry']>, period: number): number {
  const ms = 'ms' in given ? given.ms : Math.round((given.periods * period) / 1_000);
  return Math.min(LONGEST_MS, Math.max(1, ms));
}
