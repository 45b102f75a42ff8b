import ms from 'ms';
import type { Policy, PolicyDecision, PlanNumbers } from 'nestjs-floodgate';

/** What a picture draws of a policy's numbers. */
export interface DrawnNumbers {
  /** Capacity or limit. */
  readonly limit: number;
  /** Tokens or departures per second; 0 for a window. */
  readonly perSecond: number;
  /** 0 for a bucket. */
  readonly windowMs: number;
}

/** A policy as it is written, without plan and override. */
export interface PolicyParameters extends DrawnNumbers {
  readonly name: string;
  readonly algorithm: PolicyState['algorithm'];
  /** Whether it counts all clients together. */
  readonly shared: boolean;
}

/**
 * The state of a policy as instants (milliseconds since 1970), not as amounts.
 *
 * An instant changes only with a request, and the page derives the amount for every moment in between.
 */
export type PolicyState =
  | { readonly algorithm: 'token-bucket'; /** 0: the bucket is full. */ readonly fullAt: number }
  | { readonly algorithm: 'leaky-bucket'; /** 0: no request waits. */ readonly emptyAt: number }
  | { readonly algorithm: 'fixed-window'; readonly used: number; readonly endsAt: number }
  | {
      readonly algorithm: 'sliding-window-log';
      /** The admitted instants, oldest first. */ readonly marks: readonly number[];
    }
  | {
      readonly algorithm: 'sliding-window-counter';
      readonly startedAt: number;
      readonly previous: number;
      readonly current: number;
    };

/** @throws TypeError for a calendar window, and for a concurrency, which has no time to draw */
export function parametersOf(policy: Policy): PolicyParameters {
  const { name = 'default', algorithm, by } = policy;
  if (algorithm === 'concurrency') {
    throw new TypeError(`a lane draws rates and windows, and '${name}' is a concurrency`);
  }
  const numbers = numbersOf(policy);
  if (numbers === undefined)
    throw new TypeError(`a lane draws windows of one length, and '${name}' follows a calendar`);
  return { name, algorithm, shared: by === 'global', ...numbers };
}

/** Undefined for numbers that no picture can draw: a calendar window. */
export function numbersOf({
  capacity,
  limit,
  refill,
  drain,
  window,
}: Omit<PlanNumbers, 'lease'>): DrawnNumbers | undefined {
  const rate = refill ?? drain;
  if (capacity !== undefined && rate !== undefined) {
    return { limit: capacity, perSecond: perSecondOf(rate), windowMs: 0 };
  }
  if (limit === undefined || window === undefined || typeof window === 'object') return undefined;
  return { limit, perSecond: 0, windowMs: millisecondsOf(window) };
}

/** The library has checked the texts: `'600/m'`, `'1/500ms'`, `'24h'`. */
function perSecondOf(rate: NonNullable<PlanNumbers['refill']>): number {
  if (typeof rate === 'number') return rate;
  const [count, unit = ''] = rate.split('/');
  return (Number(count) * 1000) / millisecondsOf(/^\s*[a-z]/i.test(unit) ? `1${unit.trim()}` : unit);
}

function millisecondsOf(duration: number | string): number {
  return typeof duration === 'number' ? duration : ms(duration as ms.StringValue);
}

/**
 * Derives the state of a policy from a decision.
 *
 * @param at the instant of the decision, at most a millisecond late
 * @param before the last state, which has marks and counts that a decision does not contain
 */
export function stateOf(
  { algorithm, limit, windowMs }: Pick<PolicyParameters, 'algorithm' | 'limit' | 'windowMs'>,
  { remaining, resetAfterMs }: Pick<PolicyDecision, 'remaining' | 'resetAfterMs'>,
  at: number,
  before: PolicyState | undefined,
): PolicyState {
  const used = limit - remaining;
  const resetAt = resetAfterMs === 0 ? 0 : steady(Math.round(at + resetAfterMs), before);
  switch (algorithm) {
    case 'token-bucket':
      return { algorithm, fullAt: resetAt };
    case 'leaky-bucket':
      return { algorithm, emptyAt: resetAt };
    case 'fixed-window':
      return { algorithm, used, endsAt: resetAt };
    case 'sliding-window-log': {
      const marks = before?.algorithm === algorithm ? before.marks : [];
      const newest = resetAt - windowMs;
      // Without a new request only time has passed, and a mark may count for a millisecond that `at` is late.
      const isOld = Math.abs(newest - (marks.at(-1) ?? 0)) <= 1;
      const known = marks.filter((mark) => mark > at - windowMs - (isOld ? 1 : 0));
      // The decision gives the instant of the newest mark only. The others that are new get the same instant.
      const added = Array.from({ length: used - known.length }, () => newest);
      return { algorithm, marks: [...known.slice(Math.max(0, known.length - used)), ...added] };
    }
    default: {
      const startedAt = Math.floor(at / windowMs) * windowMs;
      const left = startedAt + windowMs - at;
      // Requests of the current window count until the end of the next one. Here only the previous window counts.
      if (resetAfterMs <= left) {
        const previous = previousOf(before, startedAt, windowMs) ?? Math.floor((used * windowMs) / left);
        return { algorithm, startedAt, previous, current: 0 };
      }
      const previous = previousOf(before, startedAt, windowMs) ?? 0;
      // The library rounds the share of the previous window up.
      return { algorithm, startedAt, previous, current: Math.max(0, used - Math.ceil((previous * left) / windowMs)) };
    }
  }
}

/** An instant that was rounded differs by a millisecond from look to look. The page would take that for a request. */
function steady(resetAt: number, before: PolicyState | undefined): number {
  const last = before === undefined ? undefined : instantOf(before);
  return last !== undefined && Math.abs(resetAt - last) <= 1 ? last : resetAt;
}

function instantOf(state: PolicyState): number | undefined {
  switch (state.algorithm) {
    case 'token-bucket':
      return state.fullAt;
    case 'leaky-bucket':
      return state.emptyAt;
    case 'fixed-window':
      return state.endsAt;
    default:
      return undefined;
  }
}

/** The count of the previous window; undefined if no look saw it. */
function previousOf(before: PolicyState | undefined, startedAt: number, windowMs: number): number | undefined {
  if (before?.algorithm !== 'sliding-window-counter') return undefined;
  if (before.startedAt === startedAt) return before.previous;
  return before.startedAt === startedAt - windowMs ? before.current : undefined;
}
