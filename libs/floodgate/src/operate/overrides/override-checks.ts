import { durationToMicroseconds } from '../../util/duration.js';
import { checkTag, tagFor } from '../../identity/identity-tag.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { PolicyNumbers } from '../../policy/policy.js';
import { variantOf } from '../../policy/variants.js';
import { nameShown, RateLimitConfigError, shapeOf, shown } from '../../util/config-error.js';
import { checkNames, type OptionRule, readOption, whole } from '../../util/option-rules.js';
import { unknownName } from '../../engine/calls/call-arguments.js';
import type {
  OverrideChange,
  OverrideOptions,
  OverridePageOptions,
  OverrideRemoval,
  OverrideTarget,
} from '../../layers/overrides/override.js';
import { EVERYONE, type OverrideKey } from '../../layers/overrides/override-text.js';

/** The most characters of the texts of an override. */
export const TEXTS = { policy: 64, scope: 256, reason: 500, author: 100, cursor: 16 } as const;
const MAX_TAG = 256;
/** The most members of a wrong change that a message shows. */
const MAX_SHOWN = 5;
const HUNDRED_YEARS_MS = 3_155_760_000_000;
/** Processes obey a change within a second: a shorter override would reach some of them only after its end. */
const SHORTEST_MS = 1000;

const RULES = {
  reason: text(TEXTS.reason),
  author: text(TEXTS.author),
  ifVersion: { ...whole(0, 0), default: undefined },
  scope: line(TEXTS.scope),
  policy: line(TEXTS.policy),
  limit: whole(100, 1, 1000),
  cursor: {
    default: undefined,
    // A cursor is a version. No change has version 0.
    valid: (value) =>
      typeof value === 'string' &&
      value.length <= TEXTS.cursor &&
      /^[1-9]\d*$/.test(value) &&
      Number.isSafeInteger(Number(value)),
    wanted: 'the cursor of a page',
  },
} as const satisfies Record<string, OptionRule>;

/**
 * @param ipv6Prefix bits of an IPv6 address that count
 * @throws {RateLimitConfigError} for a target that no override can have
 */
export function readTarget(given: OverrideTarget, where: string, ipv6Prefix: number): OverrideKey {
  const target = optionsOf(given, where, ['policy', 'identity', 'scope'], `{ policy: 'api', identity }`);
  const policy = readOption(target, 'policy', RULES.policy, where) as string | undefined;
  if (policy === undefined) throw wrong(where, `policy must be ${RULES.policy.wanted}, got nothing`);
  return {
    policy,
    identity: target.identity === undefined ? undefined : tagOf(target.identity, where, ipv6Prefix),
    scope: readOption(target, 'scope', RULES.scope, where) as string | undefined,
  };
}

/** @throws {RateLimitConfigError} for an option that is wrong or unknown */
export function readRemoval(given: OverrideRemoval | undefined, where: string): OverrideRemoval {
  return removalOf(optionsOf(given ?? {}, where, ['reason', 'author', 'ifVersion'], '{ author, reason }'), where);
}

/** @throws {RateLimitConfigError} for an option that is wrong or unknown */
export function readOptions(
  given: OverrideOptions | undefined,
  where: string,
): OverrideRemoval & { readonly ttlMs: number | undefined } {
  const known = ['expiresIn', 'reason', 'author', 'ifVersion'];
  const options = optionsOf(given ?? {}, where, known, `{ expiresIn: '24h' }`);
  return { ...removalOf(options, where), ttlMs: ttlOf(options.expiresIn, where) };
}

/** @throws {RateLimitConfigError} for an option that is wrong or unknown */
export function readPage(
  given: OverridePageOptions | undefined,
  where: string,
): { readonly cursor: number | undefined; readonly limit: number } {
  const options = optionsOf(given ?? {}, where, ['cursor', 'limit'], '{ limit: 100 }');
  const cursor = readOption(options, 'cursor', RULES.cursor, where) as string | undefined;
  const limit = readOption(options, 'limit', RULES.limit, where) as number;
  return { cursor: cursor === undefined ? undefined : Number(cursor), limit };
}

/**
 * Checks that a change is right for a policy wherever it holds.
 *
 * @param holds the places where it holds: see `placesOf`
 * @returns what an operator should know, such as a rate that was rounded
 * @throws {RateLimitConfigError} for wrong numbers
 */
export function checkChange(
  key: OverrideKey,
  change: OverrideChange,
  holds: readonly BoundPolicy[],
  where: string,
): readonly string[] {
  if (typeof change !== 'object' || change === null || Array.isArray(change)) {
    throw wrong(
      where,
      `a change must be an object such as { capacity: 100 } or { blocked: true }, got ${shown(change)}`,
    );
  }
  if (change.exempt !== undefined || change.blocked !== undefined) {
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    if (given.length === 1 && given[0]![1] === true) {
      if (change.blocked === true && holds.every(({ shadow }) => shadow)) {
        throw wrong(where, `blocked has no effect on policy ${shown(key.policy)} in shadow, which rejects nobody`);
      }
      return [];
    }
    const some = given.slice(0, MAX_SHOWN).map(([name, value]) => `${nameShown(name)}: ${shown(value)}`);
    const got = [...some, ...(given.length > MAX_SHOWN ? ['...'] : [])].join(', ');
    throw wrong(where, `a change must be numbers, { exempt: true } or { blocked: true }, got { ${got} }`);
  }
  // What a change leaves out comes from the client's plan.
  return holds.flatMap((place) =>
    [place, ...(place.plans?.values() ?? [])].flatMap((numbers) => {
      const plan = numbers.plan === undefined ? '' : `, plan '${numbers.plan}'`;
      const at = `${where}, policy '${place.name}' of ${place.boundTo}${plan}`;
      return variantOf(numbers, change as PolicyNumbers, at).warnings;
    }),
  );
}

/**
 * The places where an override holds.
 *
 * @param places where a policy of this name stands
 * @param names of all policies
 * @throws {RateLimitConfigError} for an unknown name or scope, and for an identity where the policy counts all clients together
 */
export function placesOf(
  { policy, identity, scope }: OverrideKey,
  places: readonly BoundPolicy[],
  names: readonly string[],
  where: string,
): readonly BoundPolicy[] {
  if (places.length === 0) throw unknownName('policy', policy, names, where);
  const scoped = scope === undefined ? places : places.filter(({ boundTo }) => boundTo === scope);
  if (scoped.length === 0) {
    const scopes = places.map(({ boundTo }) => shown(boundTo)).join(', ');
    throw wrong(where, `policy ${shown(policy)} has no scope ${shown(scope)}: its scopes are ${scopes}`);
  }
  const global = identity === undefined;
  const holds = scoped.filter(({ by }) => (by === 'global') === global);
  if (holds.length > 0) return holds;
  throw wrong(
    where,
    global
      ? `identity is missing: policy ${shown(policy)} counts each client for itself. Give one, or '${EVERYONE}'`
      : `policy ${shown(policy)} counts all clients together (by: 'global'): leave identity out`,
  );
}

function removalOf(options: Readonly<Record<string, unknown>>, where: string): OverrideRemoval {
  const read = (option: 'reason' | 'author' | 'ifVersion'): unknown =>
    readOption(options, option, RULES[option], where);
  return { reason: read('reason'), author: read('author'), ifVersion: read('ifVersion') } as OverrideRemoval;
}

function ttlOf(expiresIn: unknown, where: string): number | undefined {
  if (expiresIn === undefined) return undefined;
  const ttlMs = (durationToMicroseconds(expiresIn) ?? Number.NaN) / 1000;
  if (ttlMs >= SHORTEST_MS && ttlMs <= HUNDRED_YEARS_MS) return Math.ceil(ttlMs);
  throw wrong(
    where,
    `expiresIn must be milliseconds or a duration such as '24h', from 1 s to 100 years, got ${shown(expiresIn)}`,
  );
}

function tagOf(identity: unknown, where: string, ipv6Prefix: number): string {
  if (typeof identity === 'string') {
    checkTag(identity, where);
    if (line(MAX_TAG).valid(identity)) return identity;
    throw wrong(where, `identity must be { kind, value } or the tag of one, got ${shapeOf(identity)}`);
  }
  return tagFor(identity as Parameters<typeof tagFor>[0], where, ipv6Prefix);
}

function optionsOf(
  given: unknown,
  where: string,
  known: readonly string[],
  example: string,
): Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw wrong(where, `takes an object such as ${example}, got ${shown(given)}`);
  }
  checkNames(given, known, where);
  return given as Readonly<Record<string, unknown>>;
}

function text(max: number): OptionRule {
  return {
    default: undefined,
    valid: (value) => typeof value === 'string' && value.length <= max,
    wanted: `text of up to ${max} characters`,
    got: shapeOf, // it may name an identity
  };
}

/** Text without line breaks, which separate the parts of an override's id. */
function line(max: number): OptionRule {
  return {
    default: undefined,
    valid: (value) => typeof value === 'string' && value.length >= 1 && value.length <= max && !/[\r\n]/.test(value),
    wanted: `text of 1 to ${max} characters in one line`,
  };
}

function wrong(where: string, problem: string): RateLimitConfigError {
  return new RateLimitConfigError(where, problem);
}
