import type { Algorithm } from '../algorithms/core/algorithm.js';
import type { RequestFunction } from '../identity/request-function.js';
import { neverFits } from '../stores/charge.js';
import { shown } from '../util/config-error.js';
import { didYouMean } from '../util/nearest-name.js';
import { asGuess } from '../util/option-rules.js';
import type { ParsedPolicy } from './parse-policy.js';

/** The most classes of a policy. Each is a label of the metrics. */
const MAX_CLASSES = 16;
/** A double has 15 reliable decimal digits: 0.29 x 100 is 28.999999999999996. */
const DIGITS = 15;
/** Characters of a class's name: what `policy-options.ts` allows as a name. */
const MAX_NAME = 64;

/** The classes of a policy and the part of its limit that each may fill, the most important class first. */
export type Priorities = ReadonlyMap<string, number>;

/** Finds the class of a request. Undefined or null: the first class. */
export type PriorityFunction<Context = never> = RequestFunction<
  Context,
  string | null | undefined | Promise<string | null | undefined>
>;

/** What `priorities` and `priority` make of a policy. */
export interface PolicyPriority<Context = never> {
  /** Undefined: all requests are alike. */
  readonly priorities: Priorities | undefined;
  /** The class that the policy's numbers are for; undefined without `priorities`. */
  readonly priority: string | undefined;
  /** Finds the class of each request; undefined where all have `priority`. */
  readonly priorityOf: PriorityFunction<Context> | undefined;
  /** What a request of the class leaves free, in units of cost: 0 for a class that may fill the whole limit. */
  readonly headroom: number;
}

export const NO_PRIORITY: PolicyPriority<unknown> = {
  priorities: undefined,
  priority: undefined,
  priorityOf: undefined,
  headroom: 0,
};

/** What `priorities` has to be, for error messages. */
export const WANTED_PRIORITIES =
  `an object of 1 to ${MAX_CLASSES} classes, the most important one first, with the part of the limit that each may fill, ` +
  `such as { critical: 1, normal: 0.9, background: 0.5 }: names of 1 to ${MAX_NAME} printable characters; parts above 0, at most 1, that do not rise, the first one 1`;

/**
 * Whether a value can be `priorities`.
 *
 * @param isName whether a text can name a class
 */
export function arePriorities(value: unknown, isName: (name: unknown) => boolean): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const classes = Object.entries(value as Readonly<Record<string, unknown>>);
  if (classes.length === 0 || classes.length > MAX_CLASSES || classes[0]![1] !== 1) return false;
  let before = 1;
  for (const [name, part] of classes) {
    if (!isName(name) || typeof part !== 'number' || !(part > 0 && part <= before)) return false;
    before = part;
  }
  return true;
}

/** A value that cannot be `priorities`, for a message: its classes, where it has some. */
export function shownPriorities(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const classes = Object.entries(value).slice(0, MAX_CLASSES + 1);
  return classes.length === 0
    ? 'no class'
    : `{ ${classes.map(([name, part]) => `${shown(name)}: ${shown(part)}`).join(', ')} }`;
}

/**
 * What a class leaves free of an algorithm's limit, in units of cost. The part of the class is rounded down, so that classes
 * never get more than their part. One unit is the least: an override, or the share of a process, can be below a unit of a class.
 */
export function headroomIn({ limit }: Pick<Algorithm, 'limit'>, part: number): number {
  return limit - Math.min(limit, Math.max(1, unitsIn(limit, part)));
}

function unitsIn(limit: number, part: number): number {
  return Math.floor(Number((part * limit).toPrecision(DIGITS)));
}

/** Why a constant cost never passes in a class; undefined where it fits. */
export function whyNeverInClass(
  cost: unknown,
  algorithm: Algorithm,
  { priority, headroom }: Pick<PolicyPriority, 'priority' | 'headroom'>,
): string | undefined {
  if (typeof cost !== 'number' || algorithm.limit === 0 || !neverFits({ algorithm, cost, headroom })) return undefined;
  const part = algorithm.limit - headroom;
  return `cost ${cost} never fits the part of the class ${shown(priority)}, which is ${part} of ${algorithm.limit}`;
}

/** The headroom of a policy's class under other numbers. */
export function headroomUnder(
  { priorities, priority }: Pick<PolicyPriority, 'priorities' | 'priority'>,
  algorithm: Pick<Algorithm, 'limit'>,
): number {
  return priorities === undefined ? 0 : headroomIn(algorithm, priorities.get(priority!)!);
}

/** The class of requests that say none: the first one that may fill the whole limit. */
export function defaultClass(priorities: Priorities): string {
  return priorities.keys().next().value!;
}

/** The class that leaves most to the others: that of requests whose function fails. */
export function lowestClass(priorities: Priorities): string {
  return [...priorities.keys()].at(-1)!;
}

/** Why `name` is no class: what was given, and what would be right. */
export function unknownClass(name: unknown, policy: string, priorities: Priorities): string {
  const classes = [...priorities.keys()];
  return `policy '${policy}' has no class ${shown(name)}: it has ${classes.map(shown).join(', ')}${asGuess(didYouMean(name, classes))}`;
}

/**
 * Reads the class of a policy.
 *
 * @param given `priorities` and `priority` as they were given, `priorities` checked
 * @param policy the policy's name, and its other options
 * @param fail throws an error with a problem
 */
export function readPriority<Context>(
  given: { readonly priorities: unknown; readonly priority: unknown },
  policy: Pick<ParsedPolicy<Context>, 'algorithm' | 'cost'> & {
    readonly name: string;
  },
  fail: (problem: string) => never,
): PolicyPriority<Context> {
  const { algorithm, name, cost } = policy;
  if (given.priorities === undefined) {
    if (given.priority === undefined) return NO_PRIORITY;
    return fail(
      `priority has no effect without priorities, got ${shown(given.priority)}: add priorities, such as { critical: 1, background: 0.5 }`,
    );
  }
  const priorities: Priorities = new Map(Object.entries(given.priorities as Readonly<Record<string, number>>));
  for (const [one, part] of priorities) {
    if (unitsIn(algorithm.limit, part) >= 1 || algorithm.limit === 0) continue;
    fail(
      `priorities.${one}: ${part} of the limit ${algorithm.limit} is less than 1, so no request of the class ever passes`,
    );
  }
  const { priority = defaultClass(priorities) } = given as { readonly priority?: unknown };
  if (typeof priority === 'function') {
    const priorityOf = priority as PriorityFunction<Context>;
    return { priorities, priority: defaultClass(priorities), priorityOf, headroom: 0 };
  }
  if (!priorities.has(priority as string)) fail(`priority: ${unknownClass(priority, name, priorities)}`);
  const headroom = headroomIn(algorithm, priorities.get(priority as string)!);
  const never = whyNeverInClass(cost, algorithm, { priority: priority as string, headroom });
  if (never !== undefined) fail(never);
  return { priorities, priority: priority as string, priorityOf: undefined, headroom };
}
