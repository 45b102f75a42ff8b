import type { Algorithm } from '../algorithms/core/algorithm.js';
import type { AnyBlockAlgorithm } from '../algorithms/block/block.js';
import { ALGORITHM_NAMES, algorithmEntry, type AlgorithmName, type OptionReader } from '../algorithms/algorithms.js';
import { OptionProblem } from '../algorithms/core/options.js';
import type { IdentityBy, OnMissingIdentity } from '../identity/identity.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { meantInSeconds } from '../util/duration.js';
import { didYouMean } from '../util/nearest-name.js';
import { checkNames, optionElsewhere, readOption } from '../util/option-rules.js';
import { blockOf } from './block-for.js';
import { type Expiry, expiryOf } from './expiry.js';
import { withoutEffectInShadow } from './shadow.js';
import type {
  CommonPolicyOptions,
  OnStoreFailure,
  PlanNumbers,
  PolicyScope,
  QuotaUnit,
  TimeZoneFunction,
} from './policy.js';
import { costRule, overdraftRule, POLICY_OPTIONS } from './policy-options.js';
import { givenTerms, type PrefetchTerms, prefetchWithoutEffect, readPrefetch } from './prefetch.js';
import { headroomUnder, type PolicyPriority, readPriority, whyNeverInClass } from './priorities.js';
import { timeZoneFunction } from './time-zone-function.js';
import { whyNotTogether } from './together.js';

type Options<Context> = CommonPolicyOptions<Context>;

/** A policy that was checked once, with its algorithm ready to decide. */
export interface ParsedPolicy<Context = never> extends PolicyPriority<Context> {
  readonly name: string;
  /** Whether the name was given; else it is the default. */
  readonly named: boolean;
  readonly by: IdentityBy<Context>;
  /** Undefined: the module's. */
  readonly onMissingIdentity: OnMissingIdentity | undefined;
  /** Undefined: the default of the policy's place. */
  readonly scope: PolicyScope | undefined;
  readonly cost: NonNullable<Options<Context>['cost']>;
  /** The cost by which a settlement may exceed the limit. */
  readonly overdraft: number;
  readonly skipIf: Options<Context>['skipIf'];
  readonly countIf: Options<Context>['countIf'];
  readonly settle: Options<Context>['settle'];
  /** When the charges of its requests expire; undefined where they do not. */
  readonly expiry: Expiry | undefined;
  /** Undefined: the module's. */
  readonly onStoreFailure: OnStoreFailure | undefined;
  readonly algorithm: Algorithm;
  /** The algorithm's own options as they were given, such as `capacity` and `refill`: a variant changes some of them. */
  readonly numbers: PlanNumbers<Context>;
  /** Says the time zone of a request's window; undefined where all requests have the same. */
  readonly timeZone: TimeZoneFunction<Context> | undefined;
  readonly shards: number;
  /** The tokens that processes take ahead of demand; undefined: each request asks the store. */
  readonly prefetch: PrefetchTerms | undefined;
  readonly quotaUnit: QuotaUnit;
  /** Whether the cost was given; else it is the default. */
  readonly hasCost: boolean;
  /** The name of the policy that is charged where a request does not fit this one. */
  readonly elseName: string | undefined;
  /** Whether the policy is in shadow: it is decided and counted, but rejects no request. */
  readonly shadow: boolean;
  /** The block that its rejections lead to. */
  readonly block: AnyBlockAlgorithm | undefined;
  /** The parts of the limit that are told, in ascending order; undefined without them. */
  readonly thresholds: readonly number[] | undefined;
  /** What an operator should know, such as a rate that was rounded. */
  readonly warnings: readonly string[];
  /** The variant with the numbers of each plan; undefined where all clients get the same. */
  readonly plans: ReadonlyMap<string, ParsedPolicy<Context>> | undefined;
  /** The plan whose numbers these are; undefined for the policy's own. */
  readonly plan: string | undefined;
}

/** The name of a policy that gives none. */
export const DEFAULT_NAME = 'default';

/** A plain number below this many milliseconds is probably meant in seconds. */
const SHORT_MS = 1_000;
/** The error code for all options of a policy. */
const CODE = 'FG_INVALID_POLICY';
const WINDOW: AlgorithmName = 'fixed-window';
/** The words of the longest name of an algorithm. */
const MOST_WORDS = 3;

/**
 * Checks a policy and makes its algorithm.
 *
 * @param where how error messages begin: `RidesController.request, @RateLimit`
 * @param fallbackName the name of a policy that gives none itself
 * @param least the smallest limit or capacity: 0 for what rejects everything, which is no policy of its own
 * @throws {RateLimitConfigError} naming the place, the option, what was given and what would be right
 */
export function parsePolicy<Context>(
  policy: unknown,
  where: string,
  fallbackName?: string,
  least: 0 | 1 = 1,
): ParsedPolicy<Context> {
  const fail = (problem: string): never => {
    throw new RateLimitConfigError(where, problem, CODE);
  };
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy)) {
    return fail(
      `a policy must be an object such as { algorithm: 'token-bucket', capacity: 20, refill: 10 }, got ${shown(policy)}`,
    );
  }
  if (![Object.prototype, null].includes(Object.getPrototypeOf(policy) as object | null)) {
    fail('a policy must be a plain object, got an instance of a class');
  }
  const given = policy as Readonly<Record<string, unknown>>;
  const entry = algorithmEntry(given.algorithm);
  if (entry === undefined) {
    return fail(
      `algorithm must be one of ${ALGORITHM_NAMES.map(shown).join(', ')}, got ${shown(given.algorithm)}${hintOf(given)}`,
    );
  }
  const prefetch = readPrefetch(given, fail);
  const common = [...Object.keys(POLICY_OPTIONS), 'cost', 'overdraft'];
  if ((entry.withPrefetch ?? prefetch) !== undefined) common.push('prefetch');
  checkNames(given, ['algorithm', ...common, ...entry.options], where, entry.name);

  const warnings: string[] = [];
  const created = entry.create(readerOf(given, fail, warnings, least));
  const blocks = Array.isArray(given.blockFor) ? (given.blockFor as readonly unknown[]) : [given.blockFor];
  for (const [option, value] of [['expires', given.expires], ...blocks.map((block) => ['blockFor', block])] as const) {
    const short = meantInSeconds(option as string, value, SHORT_MS);
    if (short !== undefined) warnings.push(short);
  }
  const algorithm = prefetch === undefined ? created : (entry.withPrefetch?.(created, prefetch.length) ?? created);
  const read = (option: keyof typeof POLICY_OPTIONS): unknown =>
    readOption(given, option, POLICY_OPTIONS[option], where, CODE);
  const shadow = read('mode') === 'shadow';
  const name = (read('name') as string | undefined) ?? fallbackName;
  const parsed = {
    by: read('by') as IdentityBy<Context>,
    onMissingIdentity: read('onMissingIdentity') as OnMissingIdentity | undefined,
    scope: read('scope') as PolicyScope | undefined,
    cost: readOption(given, 'cost', costRule(algorithm), where, CODE) as ParsedPolicy<Context>['cost'],
    overdraft: readOption(given, 'overdraft', overdraftRule(algorithm), where, CODE) as number,
    skipIf: read('skipIf') as ParsedPolicy<Context>['skipIf'],
    countIf: read('countIf') as ParsedPolicy<Context>['countIf'],
    settle: read('settle') as ParsedPolicy<Context>['settle'],
    expiry: undefined as Expiry | undefined,
    onStoreFailure: read('onStoreFailure') as OnStoreFailure | undefined,
    algorithm,
    numbers: Object.fromEntries(
      entry.options.filter((option) => given[option] !== undefined).map((option) => [option, given[option]]),
    ) as PlanNumbers<Context>,
    timeZone: timeZoneFunction<Context>(given.window),
    shards: read('shards') as number,
    prefetch,
    quotaUnit: quotaUnitOf(given, algorithm, read('quotaUnit') as QuotaUnit),
    hasCost: given.cost !== undefined,
    elseName: read('else') as string | undefined,
    shadow,
    block: blockOf(given, read('blockFor') as readonly number[] | undefined, read('blockAfter') as number, fail),
    thresholds: read('thresholds') as readonly number[] | undefined,
    warnings: shadow ? [...warnings, ...withoutEffectInShadow(given)] : warnings,
    plan: undefined,
  };
  if (parsed.scope === 'app' && name === undefined) {
    throw new RateLimitConfigError(
      where,
      `name is missing: with scope 'app' all routes that use the name share one state`,
      'FG_POLICY_NAME',
    );
  }
  const apart = whyNotTogether({ ...parsed, priorities: given.priorities, plans: given.plans });
  if (apart !== undefined) fail(apart);
  if (parsed.elseName === (name ?? DEFAULT_NAME)) fail(`else: ${shown(name)} is the policy itself: name another one`);
  if (prefetch !== undefined && typeof parsed.cost === 'number' && parsed.cost > prefetch.max) {
    fail(`prefetch.max must be the cost of a request at least, which is ${parsed.cost}, got ${prefetch.max}`);
  }
  const unused = prefetch && prefetchWithoutEffect(algorithm, parsed.cost);
  if (unused !== undefined) warnings.push(unused);
  parsed.expiry = expiryOf(
    { after: read('expires') as number | undefined, finalCost: read('atExpiry') as number | undefined },
    { ...parsed, isSettled: (parsed.countIf ?? parsed.settle) !== undefined },
    fail,
  );
  const problem = parsed.shards > 1 ? whyNotSharded(parsed) : undefined;
  if (problem !== undefined) fail(`shards: ${parsed.shards} ${problem}`);
  const priority = readPriority<Context>(
    { priorities: read('priorities'), priority: read('priority') },
    { ...parsed, name: name ?? DEFAULT_NAME },
    fail,
  );
  const plans = read('plans') as Options<Context>['plans'];
  const own = { name: name ?? DEFAULT_NAME, named: name !== undefined, ...parsed, ...priority, plans: undefined };
  if (plans === undefined) return own;
  const variants = parsePlans(own, plans, where);
  const more = [...variants].flatMap(([plan, one]) => one.warnings.map((warning) => `plans.${plan}: ${warning}`));
  return { ...own, plans: variants, warnings: [...warnings, ...more] };
}

/**
 * Parses a policy's variant with other numbers of its algorithm.
 *
 * @param change the numbers that differ
 * @param mayNarrow whether a class may be left with less than a unit: it gets one then
 * @throws {RateLimitConfigError} as `parsePolicy` does
 */
export function parseVariant<Context>(
  policy: ParsedPolicy<Context>,
  change: PlanNumbers<Context>,
  where: string,
  mayNarrow = false,
): ParsedPolicy<Context> {
  const { name, by, cost, shards, prefetch, priorities, priority, priorityOf } = policy;
  const { name: algorithmName } = policy.algorithm;
  const { options } = algorithmEntry(algorithmName)!;
  const fail = (got: string): never => {
    const numbers = policy.numbers as Readonly<Record<string, unknown>>;
    const given = options.filter((option) => option in numbers);
    const example = given.map((option) => `${option}: ${shown(numbers[option])}`).join(', ');
    throw new RateLimitConfigError(
      where,
      `the numbers must be an object with some of those in { ${example} }, got ${got}`,
      'FG_INVALID_POLICY',
    );
  };
  if (typeof change !== 'object' || change === null || Array.isArray(change)) return fail(shown(change));
  checkNames(change, options, where, algorithmName);
  // An option that is undefined is not given.
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  if (given.length === 0) return fail('none');
  const numbers: PlanNumbers<Context> = { ...policy.numbers, ...Object.fromEntries(given) };
  // Passes only the options against which a policy's numbers are checked.
  const { algorithm, timeZone, warnings } = parsePolicy<Context>(
    {
      algorithm: algorithmName,
      ...(prefetch && { prefetch: givenTerms(prefetch) }),
      ...numbers,
      name,
      by,
      cost,
      shards,
      ...(priorities && !mayNarrow && { priorities: Object.fromEntries(priorities), priority: priorityOf ?? priority }),
    },
    where,
    undefined,
    0,
  );
  const headroom = headroomUnder(policy, algorithm);
  const never = mayNarrow && priorities && whyNeverInClass(cost, algorithm, { priority, headroom });
  if (never) throw new RateLimitConfigError(where, never, CODE);
  return { ...policy, algorithm, numbers, headroom, timeZone, warnings, plans: undefined };
}

function parsePlans<Context>(
  policy: ParsedPolicy<Context>,
  plans: NonNullable<Options<Context>['plans']>,
  where: string,
): ReadonlyMap<string, ParsedPolicy<Context>> {
  return new Map(
    Object.entries(plans).map(([plan, numbers]) => [
      plan,
      { ...parseVariant(policy, numbers, `${where}, plans.${plan}`), plan },
    ]),
  );
}

/** The quota unit of a policy. Leases count requests that run at once. */
function quotaUnitOf(given: Readonly<Record<string, unknown>>, { lease }: Algorithm, read: QuotaUnit): QuotaUnit {
  return lease !== undefined && given.quotaUnit === undefined ? 'concurrent-requests' : read;
}

function readerOf(
  given: Readonly<Record<string, unknown>>,
  fail: (problem: string) => never,
  warnings: string[],
  least: number,
): OptionReader {
  const value: OptionReader['value'] = (option, read, wanted) => {
    let problem = `must be ${wanted}`;
    try {
      const result = read(given[option]);
      if (result !== undefined) return result;
    } catch (error) {
      problem = (error as Error).message;
      if (error instanceof OptionProblem) return fail(`${option} ${problem}`);
    }
    return fail(`${option} ${problem}, got ${Object.hasOwn(given, option) ? shown(given[option]) : 'nothing'}`);
  };
  const isWhole = (v: unknown, max: number): v is number =>
    Number.isInteger(v) && (v as number) >= least && (v as number) <= max;
  const whole: OptionReader['whole'] = (option, max) =>
    value(option, (v) => (isWhole(v, max) ? v : undefined), `a whole number from ${least} to ${max}`);
  return { whole, value, warn: (message) => warnings.push(message) };
}

/** A hint for a policy without a valid `algorithm`: what it seems to be. */
function hintOf(given: Readonly<Record<string, unknown>>): string {
  const guess = didYouMean(given.algorithm, ALGORITHM_NAMES);
  if (guess !== '') return `.${guess}`;
  const longer = namesWithWordsOf(given.algorithm);
  if (longer.length > 0) return `. Did you mean ${longer.map(shown).join(' or ')}?`;
  // A policy of another rate limiter: in most of them it is a window.
  const { options } = algorithmEntry(WINDOW)!;
  const elsewhere = Object.keys(given).flatMap((name) => {
    const here = optionElsewhere(name, options);
    return here === undefined ? [] : `${shown(name)} is ${here} here`;
  });
  return elsewhere.length === 0
    ? ''
    : `: ${elsewhere.join(', ')}, as in { algorithm: '${WINDOW}', limit: 10, window: '1m' }`;
}

/** The algorithms whose names have all words of a shorter one, such as `sliding-log`. */
function namesWithWordsOf(algorithm: unknown): string[] {
  const words = typeof algorithm === 'string' ? algorithm.toLowerCase().split(/[-_ ]/, MOST_WORDS + 1) : [];
  if (words.length === 0 || words.length > MOST_WORDS) return [];
  return ALGORITHM_NAMES.filter((name) => words.every((word) => name.split('-').includes(word)));
}

/** Why a policy's state cannot be split; undefined when it can. */
function whyNotSharded({
  algorithm,
  cost,
  shards,
}: Pick<ParsedPolicy, 'algorithm' | 'cost' | 'shards'>): string | undefined {
  const { name, limit } = algorithm;
  if (!algorithm.shares.shardable) return `is not for a ${name}: its state cannot be split`;
  if (limit % shards !== 0) {
    const below = limit - (limit % shards);
    const right = `${below > 0 ? `${below} or ` : ''}${below + shards}`;
    return `does not divide ${limit} evenly, so a part of the limit would never be admitted: ${right} would be right`;
  }
  const { maxCost } = algorithm.shares.of(shards, 1);
  if (typeof cost !== 'number' || cost <= maxCost || limit === 0) return undefined;
  return `leaves ${maxCost} for a shard, in which cost ${cost} never fits`;
}
