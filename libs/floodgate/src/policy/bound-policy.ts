import type { Algorithm } from '../algorithms/core/algorithm.js';
import { timeZones } from '../algorithms/fixed-window/calendar.js';
import { globalTag } from '../identity/identity-tag.js';
import { blockTail, keyOf, type KeyPrefix, keyTail, shardKeys } from './key.js';
import { type ParsedPolicy, parseVariant } from './parse-policy.js';
import type { PolicyCalendar } from './policy.js';

/** No time zone that a request may choose has a longer name. */
const LONGEST_ZONE = 'America/Argentina/ComodRivadavia';

/** A policy where it stands: on a route, on a controller or for the application. */
export interface BoundPolicy<Context = never> extends ParsedPolicy<Context> {
  /** The policy under the numbers of each plan; undefined where all clients get the same. */
  readonly plans: ReadonlyMap<string, BoundPolicy<Context>> | undefined;
  /** The policy that is charged where a request does not fit this one. The variants of a plan or a time zone have none. */
  readonly else: BoundPolicy<Context> | undefined;
  /** What its state belongs to, as keys contain it: `POST /api/rides`, `RidesController /api/rides` or `app`. */
  readonly boundTo: string;
  /** How its keys begin. */
  readonly keyPrefix: KeyPrefix;
  /** The part of every key after the identity. */
  readonly keyTail: string;
  /** The one key of a policy that counts all clients together; undefined for the others. */
  readonly globalKey: string | undefined;
  /** The part of its block's keys after the identity; undefined without a block. */
  readonly blockTail: string | undefined;
  /** The keys of its shards; undefined where the state is not split. */
  readonly shardKeys: readonly string[] | undefined;
}

/** Whether a policy, or its charge, can make a request wait for a departure slot. */
export function canDelay({
  algorithm,
  shadow = false,
}: {
  readonly algorithm: Algorithm;
  readonly shadow?: boolean;
}): boolean {
  return algorithm.delays && !shadow;
}

/** Whether a request's charge is settled when the request has ended. */
export function isSettled({ countIf, settle }: Pick<ParsedPolicy, 'countIf' | 'settle'>): boolean {
  return countIf !== undefined || settle !== undefined;
}

/**
 * Binds a policy to what its state belongs to.
 *
 * @param prefix how keys begin
 * @param where how error messages begin
 * @param instead the policy that its `else` names, bound
 * @throws {RateLimitConfigError} when a key could become longer than 200 bytes
 */
export function bindPolicy<Context>(
  parsed: ParsedPolicy<Context>,
  prefix: KeyPrefix,
  boundTo: string,
  where: string,
  instead?: BoundPolicy<Context>,
): BoundPolicy<Context> {
  const tail = keyTail(prefix, boundTo, parsed, where);
  // Checked at boot, so that no request fails because the name of its time zone is too long.
  if (parsed.timeZone !== undefined) keyTail(prefix, boundTo, parsedIn(parsed, LONGEST_ZONE, where), where);
  const { by, shards, plans } = parsed;
  return {
    ...parsed,
    else: instead,
    boundTo,
    keyPrefix: prefix,
    keyTail: tail,
    blockTail: blockTail(prefix, boundTo, parsed, where),
    globalKey: by === 'global' ? keyOf(prefix, globalTag(parsed.name), tail) : undefined,
    plans:
      plans &&
      new Map(
        [...plans].map(([plan, one]) => [plan, bindPolicy(one, prefix, boundTo, `${where}, plans.${plan}`, instead)]),
      ),
    // Only policies that count all clients together have shards: parsePolicy sees to that.
    shardKeys: shards > 1 ? shardKeys(prefix, tail, shards) : undefined,
  };
}

/** A policy with a `timeZone` function, parsed for one zone. */
function parsedIn<Context>(parsed: ParsedPolicy<Context>, timeZone: string, where: string): ParsedPolicy<Context> {
  const { calendar } = parsed.numbers.window as PolicyCalendar<Context>;
  return parseVariant(parsed, { window: { calendar, timeZone } }, where);
}

/** Bound policies by the policy and the zone. Node.js knows about 600 zones. */
const IN_ZONES = new WeakMap<BoundPolicy, Map<string, BoundPolicy>>();

/**
 * A policy with a `timeZone` function, bound for one zone. Its key names the zone; everything else stays. Equal zones give the
 * same object.
 *
 * @param timeZone a name that `timeZoneNamed` has returned
 */
export function inTimeZone<Context>(bound: BoundPolicy<Context>, timeZone: string): BoundPolicy<Context> {
  let known = IN_ZONES.get(bound);
  if (known === undefined) IN_ZONES.set(bound, (known = new Map()));
  let policy = known.get(timeZone) as BoundPolicy<Context> | undefined;
  if (policy === undefined) {
    const where = `policy '${bound.name}' of ${bound.boundTo}`;
    policy = bindPolicy(parsedIn(bound, timeZone, where), bound.keyPrefix, bound.boundTo, where, bound.else);
    known.set(timeZone, policy);
  }
  return policy;
}

/**
 * The key tails in every time zone that Node.js lists, and in those that requests have used; empty if the zone is fixed. It
 * creates no policies: creating those of a few hundred zones would block the event loop.
 */
export function keyTailsInAllZones(bound: BoundPolicy): readonly string[] {
  if (bound.timeZone === undefined) return [];
  const { rate } = bound.algorithm;
  const stem = bound.keyTail.slice(0, -rate.length) + rate.slice(0, rate.indexOf('@'));
  const met = IN_ZONES.get(bound)?.keys() ?? [];
  return Array.from(new Set([...timeZones(), ...met]), (zone) => `${stem}@${zone}`);
}
