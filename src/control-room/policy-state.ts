import type { Policy, PolicyDecision } from 'nestjs-floodgate';

/** The parameters of a policy, as numbers. */
export interface PolicyParameters {
  readonly name: string;
  readonly algorithm: PolicyState['algorithm'];
  /** Capacity or limit. */
  readonly limit: number;
  /** Tokens or departures per second; 0 for a window. */
  readonly perSecond: number;
  /** 0 for a bucket. */
  readonly windowMs: number;
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

export type LaneState = readonly PolicyState[];

/** @throws TypeError for a rate or window that is text of another form, and for a concurrency, which has no time to draw */
export function parametersOf(policy: Policy): PolicyParameters {
  if (policy.algorithm === 'concurrency') {
    throw new TypeError(`a lane draws rates and windows, and '${policy.name ?? 'default'}' is a concurrency`);
  }
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

function numeric(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new TypeError(
    `a lane draws rates per second and windows in milliseconds as numbers, got ${JSON.stringify(value)}`,
  );
}

/**
 * Derives the state of a policy from a decision.
 *
 * @param at the instant of the decision
 * @param before the last state, which has marks and counts that a decision does not contain
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
      // The decision gives the instant of the newest mark only. The others that are new get the same instant.
      const added = Array.from({ length: used - known.length }, () => resetAt - windowMs);
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

/** The count of the previous window; undefined if no look saw it. */
function previousOf(before: PolicyState | undefined, startedAt: number, windowMs: number): number | undefined {
  if (before?.algorithm !== 'sliding-window-counter') return undefined;
  if (before.startedAt === startedAt) return before.previous;
  return before.startedAt === startedAt - windowMs ? before.current : undefined;
}
