import {
  checkNames,
  type LimitReference,
  type OverrideChange,
  type OverridePageOptions,
  shown,
} from 'floodgate/internal';
import { type Identity, type OverrideOptions, type OverrideTarget, RateLimitConfigError } from 'floodgate';
import { EVERYONE, tagOf } from 'floodgate/internal-boot';
import { TEXT_BOUNDS } from './text-bounds.js';

// Reads the requests of the endpoints. Values that `RateLimiter` and `RateLimitOverrides` check are not checked here.

type Given = Readonly<Record<string, unknown>>;

const TARGET = ['policy', 'identity', 'scope'];
const PAGE = ['cursor', 'limit'];
const CHANGED_BY = ['reason', 'author', 'ifVersion'];

export interface ExplainRequest {
  readonly identity: Identity | string;
  readonly route: string | undefined;
  readonly plan: string | null | undefined;
  readonly timeZone: string | undefined;
  readonly priority: string | undefined;
}

/** @throws {RateLimitConfigError} for a wrong request, like every function in this file */
export function readExplain(body: unknown): ExplainRequest {
  const given = bodyOf(body, ['identity', 'route', 'plan', 'timeZone', 'priority']);
  const [route, timeZone] = [optionalText(given, 'route'), optionalText(given, 'timeZone')];
  const priority = optionalText(given, 'priority');
  return { identity: identityOf(given), route, plan: planOf(given), timeZone, priority };
}

export function readReset(body: unknown): { readonly identity: Identity | string; readonly what: LimitReference } {
  const given = bodyOf(body, ['identity', 'route', 'policy']);
  const identity = identityOf(given);
  const [route, policy] = [optionalText(given, 'route'), optionalText(given, 'policy')];
  if ((route === undefined) === (policy === undefined)) {
    const got = route === undefined ? 'neither' : 'both';
    throw wrong(BODY, `give either route, such as 'POST /rides', or the name of a policy, got ${got}`);
  }
  return { identity, what: policy === undefined ? { route: route! } : { policy } };
}

export function readTarget(body: unknown): OverrideTarget {
  return targetOf(bodyOf(body, TARGET));
}

export function readHistory(body: unknown): { readonly target: OverrideTarget; readonly page: OverridePageOptions } {
  const given = bodyOf(body, [...TARGET, ...PAGE]);
  const { cursor, limit } = given;
  return { target: targetOf(given), page: { cursor, limit } as OverridePageOptions };
}

export interface SetRequest {
  readonly target: OverrideTarget;
  readonly change: OverrideChange;
  readonly options: OverrideOptions;
}

/** @param author the author, if the application names authors; otherwise the body does */
export function readSet(body: unknown, author: string | undefined): SetRequest {
  const given = bodyOf(body, [...TARGET, 'change', 'expiresIn', ...CHANGED_BY]);
  if (given.change === undefined) {
    throw wrong(
      BODY,
      'change is missing: give numbers such as { "limit": 100 }, { "exempt": true } or { "blocked": true }',
    );
  }
  const { expiresIn } = given;
  return {
    target: targetOf(given),
    change: given.change as OverrideChange,
    options: { ...changedBy(given, author), expiresIn } as OverrideOptions,
  };
}

/** @param author see `readSet` */
export function readRemove(body: unknown, author: string | undefined): Omit<SetRequest, 'change'> {
  const given = bodyOf(body, [...TARGET, ...CHANGED_BY]);
  return { target: targetOf(given), options: changedBy(given, author) };
}

export function readPage(query: unknown): OverridePageOptions {
  const given = queryOf(query, PAGE);
  return { cursor: given.cursor, limit: given.limit === undefined ? undefined : wholeOf(given.limit) };
}

/** The filter of the table: true for limited handlers, false for the others, undefined for all. */
export function readTable(query: unknown): boolean | undefined {
  const { limited } = queryOf(query, ['limited']);
  if (limited === undefined) return undefined;
  if (limited === 'true' || limited === 'false') return limited === 'true';
  throw wrong(QUERY, `limited must be true or false, got ${shown(limited)}`);
}

/** The question for the rejected identities has no options. */
export function readTopRejected(query: unknown): void {
  queryOf(query, []);
}

const BODY = 'The body';
/** The shortest IPv6 prefix that a module can count, so that each identity of a module passes the check. */
const SHORTEST_PREFIX = 1;
const QUERY = 'The query';

function bodyOf(body: unknown, known: readonly string[]): Given {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw wrong(
      BODY,
      `must be a JSON object (Content-Type: application/json), got ${body === undefined ? 'none' : shown(body)}`,
    );
  }
  checkNames(body, known, BODY);
  // A null member counts as absent, except `plan`: there null means no plan.
  const members = Object.entries(body).filter(([name, value]) => value !== null || name === 'plan');
  return Object.fromEntries(members);
}

function queryOf(query: unknown, known: readonly string[]): Readonly<Record<string, string | undefined>> {
  const given = { ...(query as Given | undefined) };
  checkNames(given, known, QUERY);
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string') throw wrong(QUERY, `${name} must be given once`);
  }
  return given as Readonly<Record<string, string>>;
}

/** Reads and checks the identity of a request. The options of the module decide how keys name the identity. */
function identityOf({ identity }: Given): Identity | string {
  const value = (identity as { readonly value?: unknown } | null | undefined)?.value;
  if (typeof value === 'string' && value.length > TEXT_BOUNDS.identity) {
    // The message does not show the value, which may be an API key.
    throw wrong(
      BODY,
      `the value of identity must be text of up to ${TEXT_BOUNDS.identity} characters, got ${value.length}`,
    );
  }
  tagOf(identity, BODY, SHORTEST_PREFIX);
  return identity as Identity | string;
}

function targetOf(given: Given): OverrideTarget {
  const { policy, scope } = given;
  const isOne = given.identity !== undefined && given.identity !== EVERYONE;
  const identity = isOne ? identityOf(given) : given.identity;
  return { policy, identity, scope } as OverrideTarget;
}

function changedBy({ reason, author, ifVersion }: Given, known: string | undefined): OverrideOptions {
  if (known !== undefined && author !== undefined) {
    throw wrong(BODY, 'author must be left out: the application says who makes the request');
  }
  return { reason, author: known ?? author, ifVersion } as OverrideOptions;
}

function planOf(given: Given): string | null | undefined {
  const { plan } = given;
  if (plan === null) return null;
  if (plan === undefined || typeof plan === 'string') return optionalText(given, 'plan');
  throw wrong(BODY, `plan must be the name of a plan, or null for none, got ${shown(plan)}`);
}

function optionalText(given: Given, name: 'route' | 'policy' | 'plan' | 'timeZone' | 'priority'): string | undefined {
  const value = given[name];
  const longest = TEXT_BOUNDS[name];
  if (value === undefined || (typeof value === 'string' && value !== '' && value.length <= longest)) return value;
  throw wrong(BODY, `${name} must be text of 1 to ${longest} characters, got ${gotText(value)}`);
}

function gotText(value: unknown): string {
  return typeof value === 'string' && value !== '' ? `${value.length} of them` : shown(value);
}

/** Converts digits to a number. Other text is returned as it is: the check of the page rejects it. */
function wholeOf(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : (text as unknown as number);
}

function wrong(where: string, problem: string): RateLimitConfigError {
  return new RateLimitConfigError(where, problem);
}
