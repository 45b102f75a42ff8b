import type { Policy, PolicyDecision } from 'nestjs-floodgate';

/** What a policy says of itself: numbers only. */
export interface PolicyParameters {
  readonly name: string;
  readonly algorithm: Policy['algorithm'];
  /** Capacity or limit. */
  readonly limit: number;
  /** Tokens or departures a second; 0 of a window. */
  readonly perSecond: number;
  /** 0 of a bucket. */
  readonly windowMs: number;
  /** Whether it counts everybody together. */
  readonly shared: boolean;
}

/**
 * What a policy holds, in instants (milliseconds since 1970) and not in amounts: it changes only when a request does it, and
 * who draws it knows the amount of every moment in between.
 */
export type PolicyState =
  | { readonly algorithm: 'token-bucket'; /** 0: it is full. */ readonly fullAt: number }
  | { readonly algorithm: 'leaky-bucket'; /** 0: nobody waits. */ readonly emptyAt: number }
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

export type LaneState = readonly PolicyState[];

/** @throws TypeError for a rate or window that is text of another form */
export function parametersOf(policy: Policy): PolicyParameters {
  const { name = 'default', algorithm, by } = policy;
  const common = { name, algorithm, shared: by === 'global', perSecond: 0, windowMs: 0 };
  switch (policy.algorithm) {
    case 'token-bucket':
      return { ...common, limit: policy.capacity, perSecond: numeric(policy.refill) };
    case 'leaky-bucket':
      return { ...common, limit: policy.capacity, perSecond: numeric(policy.drain) };
    default:
      return { ...common, limit: policy.limit, windowMs: numeric(policy.window) };
  }
}

function numeric(value: number | string): number {
  if (typeof value === 'number') return value;
  throw new TypeError(`a lane draws rates per second and windows in milliseconds, got '${value}'`);
}

/**
 * What a look at a policy means for the picture of it.
 *
 * @param at when it was looked at
 * @param before what the last look meant: a window's earlier marks and counts, which a decision does not tell
 */
export function stateOf(
  { algorithm, limit, windowMs }: PolicyParameters,
  { remaining, resetAfterMs }: Pick<PolicyDecision, 'remaining' | 'resetAfterMs'>,
  at: number,
  before: PolicyState | undefined,
): PolicyState {
  const used = limit - remaining;
  const resetAt = resetAfterMs === 0 ? 0 : Math.round(at + resetAfterMs);
  switch (algorithm) {
    case 'token-bucket':
      return { algorithm, fullAt: resetAt };
    case 'leaky-bucket':
      return { algorithm, emptyAt: resetAt };
    case 'fixed-window':
      return { algorithm, used, endsAt: resetAt };
    case 'sliding-window-log': {
      const known = before?.algorithm === algorithm ? before.marks.filter((mark) => mark > at - windowMs) : [];
      // The newest one is known exactly; those beside it that are new as well came since the last look.
      const added = Array.from({ length: used - known.length }, () => resetAt - windowMs);
      return { algorithm, marks: [...known.slice(Math.max(0, known.length - used)), ...added] };
    }
    default: {
      const startedAt = Math.floor(at / windowMs) * windowMs;
      const left = startedAt + windowMs - at;
      // What has been taken in the current window stays until the end of the next one.
      if (resetAfterMs <= left) {
        const previous = previousOf(before, startedAt, windowMs) ?? Math.floor((used * windowMs) / left);
        return { algorithm, startedAt, previous, current: 0 };
      }
      const previous = previousOf(before, startedAt, windowMs) ?? 0;
      // The library counts the fading share of the previous window rounded up.
      return { algorithm, startedAt, previous, current: Math.max(0, used - Math.ceil((previous * left) / windowMs)) };
    }
  }
}

/** The previous window's count, if it was seen. */
function previousOf(before: PolicyState | undefined, startedAt: number, windowMs: number): number | undefined {
  if (before?.algorithm !== 'sliding-window-counter') return undefined;
  if (before.startedAt === startedAt) return before.previous;
  return before.startedAt === startedAt - windowMs ? before.current : undefined;
}
