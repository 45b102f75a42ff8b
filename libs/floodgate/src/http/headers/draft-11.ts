import type { Algorithm } from '../../algorithms/core/algorithm.js';
import { chargeOfDecision, isRefundable } from '../../charges/judged-policy.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { Decision, PolicyDecision } from '../../policy/decision.js';
import { retryAfterSeconds } from './retry-after.js';
import type { Header } from './header.js';
import { DRAFT } from './names.js';

/** The largest integer of RFC 9651, section 3.3.1. */
const MAX_INTEGER = 999_999_999_999_999;

/** The effective window of a policy that has nothing left, where charges may be refunded at any time. */
const ESTIMATE_S = 1;

/**
 * The library's own parameter of `RateLimit`, a Boolean of RFC 9651. The draft wants a vendor's prefix (section 4.1), so that no
 * revision gives the name another meaning. A key has a-z, 0-9, `_`, `-`, `.` and `*`, and begins with a letter or `*`.
 */
const ESTIMATED = 'floodgate-estimated';

/** What the fields say of one policy; seconds are whole. */
interface FieldValues {
  /** The policy's name as a String of RFC 9651. */
  readonly name: string;
  /** The quota, in quota units. */
  readonly quota: number;
  /** The quota unit; undefined: requests. */
  readonly unit: string | undefined;
  /** Seconds in which the quota is granted once; undefined when it is not known. */
  readonly window: number | undefined;
  /** The available quota, in quota units. */
  readonly available: number;
  /** The effective window: seconds in which the client can use no more than what is available; undefined when waiting is no help. */
  readonly effectiveWindow: number | undefined;
  /** Whether `available` and `effectiveWindow` are estimates. */
  readonly estimated: boolean;
}

/**
 * The spelling of the two fields.
 *
 * Source: draft-ietf-httpapi-ratelimit-headers-11 (23 May 2026), sections 3.1 and 4.1.
 */
const spelled = {
  policy: ({ name, quota, unit, window }: Pick<FieldValues, 'name' | 'quota' | 'unit' | 'window'>): string =>
    `${name};q=${quota}${parameter('qu', unit && sfString(unit))}${parameter('w', window)}`,
  limit: ({ name, available, effectiveWindow, estimated }: Omit<FieldValues, 'quota' | 'unit' | 'window'>): string =>
    `${name};r=${available}${parameter('t', effectiveWindow)}${estimated ? `;${ESTIMATED}` : ''}`,
};

/** What depends on a policy alone. */
interface Constant {
  readonly name: string;
  /** The item of `RateLimit-Policy`. */
  readonly item: string;
}

/** Makes each constant once. An algorithm belongs to one policy; a process's share of it is another algorithm. */
const constants = new WeakMap<Algorithm, Constant>();
/** The constants of classes, by the headroom. A policy has at most 16 classes. */
const parts = new WeakMap<Algorithm, Map<number, Constant>>();

/**
 * `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-11 (23 May 2026): lists of structured fields (RFC
 * 9651) with an item for every policy of the decision. docs/http.md says what each parameter means for each algorithm.
 *
 * On a rejection, a policy that let the request pass has no `t` where its effective window ends after `Retry-After`: the draft
 * wants `Retry-After` not to be earlier than `t` (section 6), and the client may retry at `Retry-After`.
 */
export function draftHeaders(decision: Decision): readonly Header[] {
  const latest =
    decision.allowed || decision.retryAfterMs === null ? Infinity : retryAfterSeconds(decision.retryAfterMs);
  let policies = '';
  let limits = '';
  for (const policy of decision.policies) {
    const charge = chargeOfDecision(policy);
    const separator = policies === '' ? '' : ', ';
    const { name, item } = charge === undefined ? constantOf(policy) : knownConstantOf(policy, charge);
    policies += separator + item;
    const effectiveWindow = effectiveWindowOf(policy, charge);
    limits +=
      separator +
      spelled.limit({
        name,
        available: integer(policy.remaining),
        effectiveWindow: effectiveWindow === undefined || effectiveWindow > latest ? undefined : effectiveWindow,
        estimated: policy.estimated === true,
      });
  }
  return [
    [DRAFT[0], policies],
    [DRAFT[1], limits],
  ];
}

function knownConstantOf(decision: PolicyDecision, charge: PolicyCharge): Constant {
  if (charge.headroom > 0) return knownPartOf(decision, charge);
  let constant = constants.get(charge.algorithm);
  if (constant === undefined) constants.set(charge.algorithm, (constant = constantOf(decision, charge)));
  return constant;
}

/** The constants of a class, whose quota is a part of the limit. */
function knownPartOf(decision: PolicyDecision, charge: PolicyCharge): Constant {
  let known = parts.get(charge.algorithm);
  if (known === undefined) parts.set(charge.algorithm, (known = new Map()));
  let constant = known.get(charge.headroom);
  if (constant === undefined) known.set(charge.headroom, (constant = constantOf(decision, charge)));
  return constant;
}

/** @param charge undefined for a decision that an application has put together itself: its window is not known */
function constantOf({ policy, limit }: PolicyDecision, charge?: PolicyCharge): Constant {
  const name = sfString(policy);
  const unit = charge?.policy.quotaUnit;
  const item = spelled.policy({
    name,
    quota: integer(limit),
    // The draft's default says nothing.
    unit: unit === 'requests' ? undefined : unit,
    // Leases come back when their requests end.
    window: charge === undefined || isLease(charge) ? undefined : Math.max(1, seconds(charge.algorithm.window / 1000)),
  });
  return { name, item };
}

function isLease({ algorithm }: PolicyCharge): boolean {
  return algorithm.lease !== undefined;
}

function effectiveWindowOf(policy: PolicyDecision, charge: PolicyCharge | undefined): number | undefined {
  if (policy.allowed && charge !== undefined && isLease(charge)) return undefined;
  if (policy.allowed && isRefundable(policy)) return Math.min(ESTIMATE_S, seconds(untilMoreMs(policy, charge)));
  if (policy.allowed) return seconds(untilMoreMs(policy, charge));
  return policy.retryAfterMs === null ? undefined : integer(retryAfterSeconds(policy.retryAfterMs));
}

/**
 * Milliseconds until a policy that let the request pass has more than `remaining`: for a bucket the next token or waiting place,
 * for a fixed window its end. For a sliding window it is at most that: a decision knows only when all of the limit is back.
 */
function untilMoreMs({ resetAfterMs, limit, remaining }: PolicyDecision, charge: PolicyCharge | undefined): number {
  // A shard tells the time of its own part alone.
  if (charge === undefined || !charge.algorithm.refills || charge.policy.shards > 1) return resetAfterMs;
  const { window, delays } = charge.algorithm;
  // A bucket is filled token by token: what is missing for `remaining + 1` is there before the rest. A departing request takes
  // no waiting place of a queue.
  const missingAfter = limit - remaining - (delays ? 0 : 1);
  return resetAfterMs - (missingAfter * window) / charge.algorithm.limit / 1000;
}

function parameter(name: string, value: string | number | undefined): string {
  return value === undefined ? '' : `;${name}=${value}`;
}

/** RFC 9651, section 4.1.6. A character that no string may have becomes a question mark: an application's own decision may have one. */
function sfString(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`;
}

/** More than a double loses in a division of microseconds, and less than the parts of a microsecond that algorithms count. */
const NOISE_US = 1e-3;

/** Whole seconds, rounded up. A part of a microsecond counts, but the noise of a division must not add a second. */
function seconds(ms: number): number {
  return integer(Math.ceil(Math.ceil(ms * 1000 - NOISE_US) / 1_000_000));
}

function integer(value: number): number {
  return value > 0 ? Math.min(Math.floor(value), MAX_INTEGER) : 0;
}
