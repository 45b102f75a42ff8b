import type { Type } from '@nestjs/common';
import { type PolicyOrigin, type PolicyScope, shown } from 'floodgate/internal';
import { RateLimitConfigError } from 'floodgate';
import { isPolicyUse, nearestName } from 'floodgate/internal-boot';
import { firstNames } from '../handlers/first-names.js';
import type { Decoration } from '../handlers/metadata.js';
import { classDecoration, decorationOf } from '../handlers/read-metadata.js';
import { isChooser } from './policy-choices.js';
import type { Handler } from '../handlers/route.js';
import type { Policy, PolicySource } from '../types.js';

/** The place where a policy of a handler was written. */
export type SourcePlace = 'method' | 'class' | 'defaults';

/** A policy of a handler, or the function that chooses it. */
export interface PlacedSource {
  readonly source: PolicySource;
  readonly place: SourcePlace;
  /** Its index among the sources of one decorator, or of `defaults`. */
  readonly index: number;
  /** The number of these sources. */
  readonly of: number;
  /** Names of policies that a function must not choose: they are skipped, or have another meaning at the handler. */
  readonly without: readonly string[];
}

/** The sources of a handler's policies: its decorators, those of its class, and the module's `defaults`. */
export interface RouteSources {
  readonly sources: readonly PlacedSource[];
  readonly origin: PolicyOrigin;
  /** Names of the defaults that the handler or its class skips. */
  readonly skipped: readonly string[];
}

/** Determines which policies limit a handler. No other code decides this. */
export function sourcesOf(type: Type, handler: Handler, defaults: readonly PolicySource[]): RouteSources {
  const [shared, own] = [classDecoration(type), decorationOf(type, handler)];
  const skippedByClass = namesOf(shared);
  const skipped = [...skippedByClass, ...namesOf(own)];
  const kept = without(placed(defaults, 'defaults'), skippedByClass);
  const ofClass = decorated(kept, shared, 'class', kept);
  const sources = decorated(ofClass, own, 'method', kept);
  return { sources, origin: originOf(sources, own, shared, defaults), skipped };
}

/** Whether `@SkipRateLimit()` leaves a handler out of everything. */
export function isExempt(type: Type, handler: Handler): boolean {
  const own = decorationOf(type, handler);
  if (own?.skips === 'all') return true;
  return own?.policies === undefined && classDecoration(type)?.skips === 'all';
}

/** @param current what stands there without the decorator */
function decorated(
  current: readonly PlacedSource[],
  decoration: Decoration | undefined,
  place: SourcePlace,
  defaults: readonly PlacedSource[],
): readonly PlacedSource[] {
  if (decoration === undefined) return current;
  if (decoration.skips === 'all') return [];
  const skips = namesOf(decoration);
  const { policies } = decoration;
  if (policies === undefined) return without(current, skips);
  const own = placed(policies, place);
  if (decoration.defaults !== 'keep') return own;
  return [...without(defaults, [...skips, ...policies.flatMap((source) => nameOf(source) ?? [])]), ...own];
}

function placed(sources: readonly PolicySource[], place: SourcePlace): readonly PlacedSource[] {
  return sources.map((source, index) => ({ source, place, index, of: sources.length, without: [] }));
}

/** Leaves out policies with these names. Functions stay, because their choice is checked for each request. */
function without(sources: readonly PlacedSource[], names: readonly string[]): readonly PlacedSource[] {
  if (names.length === 0) return sources;
  return sources.flatMap((one): readonly PlacedSource[] => {
    if (isChooser(one.source)) return [{ ...one, without: [...one.without, ...names] }];
    const name = nameOf(one.source);
    return name !== undefined && names.includes(name) ? [] : [one];
  });
}

function originOf(
  sources: readonly PlacedSource[],
  own: Decoration | undefined,
  shared: Decoration | undefined,
  defaults: readonly PolicySource[],
): PolicyOrigin {
  if (own?.policies !== undefined) return 'method';
  if (own?.skips === 'all') return 'skipped';
  if (sources.length > 0) return shared?.policies === undefined ? 'defaults' : 'class';
  const isSkipped = own !== undefined || shared !== undefined;
  return isSkipped || defaults.length > 0 ? 'skipped' : 'none';
}

/** The name of a policy; undefined where it has none, or a function chooses it. */
export function nameOf(source: PolicySource): string | undefined {
  if (typeof source === 'string') return source;
  if (isChooser(source)) return undefined;
  return isPolicyUse(source) ? source.policy : source?.name;
}

/** The scope that a policy says; undefined where it says none, or a function chooses it. */
export function scopeOf(source: PolicySource, named: Readonly<Record<string, Policy>>): PolicyScope | undefined {
  if (isChooser(source)) return undefined;
  const name = isPolicyUse(source) ? source.policy : source;
  return (typeof name === 'string' ? named[name] : name)?.scope;
}

function namesOf(decoration: Decoration | undefined): readonly string[] {
  return decoration?.skips === undefined || decoration.skips === 'all' ? [] : decoration.skips;
}

/**
 * Checks the names that a handler and its class skip.
 *
 * @param handlerName class and method
 * @param known the module's `policies`, which functions may choose
 * @throws {RateLimitConfigError} for a name that nothing there has, or beside policies that leave nothing to skip
 */
export function checkSkips(
  type: Type,
  handler: Handler,
  handlerName: string,
  defaults: readonly PolicySource[],
  known: Iterable<{ readonly name: string }>,
): void {
  const [shared, own] = [classDecoration(type), decorationOf(type, handler)];
  const all = placed(defaults, 'defaults');
  checkNamesOf(shared, type.name, all, known);
  const kept = without(all, namesOf(shared));
  const current = own?.policies === undefined ? decorated(kept, shared, 'class', kept) : kept;
  checkNamesOf(own, handlerName, current, known);
}

function checkNamesOf(
  decoration: Decoration | undefined,
  place: string,
  current: readonly PlacedSource[],
  known: Iterable<{ readonly name: string }>,
): void {
  const skips = namesOf(decoration);
  if (skips.length === 0) return;
  const where = `${place}, @SkipRateLimit(${skips.map(shown).join(', ')})`;
  if (decoration?.policies !== undefined && decoration.defaults !== 'keep') {
    throw new RateLimitConfigError(
      where,
      `has no effect beside @RateLimit, whose policies take the place of the defaults: give @RateLimit { defaults: 'keep' } as its ` +
        `last argument, or leave @SkipRateLimit out`,
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  const named = current.flatMap(({ source }) => nameOf(source) ?? []);
  const choosable = current.some(({ source }) => isChooser(source)) ? Array.from(known, ({ name }) => name) : [];
  const names = [...new Set([...named, ...choosable])];
  const unknown = skips.find((skip) => !names.includes(skip));
  if (unknown === undefined) return;
  const nearest = nearestName(unknown, names);
  const guess = nearest === undefined ? '' : ` Did you mean ${shown(nearest)}?`;
  throw new RateLimitConfigError(
    where,
    `no policy named ${shown(unknown)} stands there.${guess} Those that do are ${names.length === 0 ? 'none' : names.map(shown).join(', ')}`,
    'FG_UNKNOWN_POLICY',
  );
}

/**
 * Names the handlers whose own policies silently replace the module's `defaults`, without the option `defaults: 'replace'`;
 * undefined if there are none.
 *
 * @param defaults those to name
 */
export function replacedDefaults(
  handlers: readonly { readonly type: Type; readonly handler: Handler; readonly name: string }[],
  defaults: readonly PolicySource[],
): string | undefined {
  if (defaults.length === 0) return undefined;
  const names = handlers.flatMap(({ type, handler, name }) => {
    const [own, shared] = [decorationOf(type, handler), classDecoration(type)];
    const deciding = own?.policies !== undefined || own?.skips === 'all' ? own : shared;
    if (deciding?.policies === undefined || deciding.defaults !== undefined) return [];
    const given = new Set(deciding.policies.map(nameOf));
    return defaults.some((source) => !given.has(nameOf(source))) ? [name] : [];
  });
  if (names.length === 0) return undefined;
  const of = defaults.map((source) => shown(nameOf(source) ?? 'a function')).join(', ');
  return (
    `The module's defaults (${of}) do not limit ${firstNames(names)}: policies of their own replace them. ` +
    `@RateLimit(..., { defaults: 'keep' }) keeps them; { defaults: 'replace' } says that this is meant`
  );
}

/** Names the handlers whose policies have no effect because no guard guards them, as with `guard: false`. */
export function unguardedHandlers(
  handlers: readonly { readonly type: Type; readonly handler: Handler; readonly name: string }[],
  defaults: readonly PolicySource[],
  isGuarded: (type: Type, handler: Handler) => boolean,
): string | undefined {
  const names = handlers.flatMap(({ type, handler, name }) =>
    sourcesOf(type, handler, defaults).sources.length > 0 && !isGuarded(type, handler) ? [name] : [],
  );
  if (names.length === 0) return undefined;
  return (
    `No RateLimitGuard stands before ${firstNames(names)}, so the policies there limit nothing: bind it with ` +
    `@UseGuards(RateLimitGuard) or as APP_GUARD, or leave guard: false out of RateLimitModule`
  );
}
