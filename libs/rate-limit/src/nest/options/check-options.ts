import { RateLimitConfigError } from '../../util/config-error.js';
import { meantInSeconds } from '../../util/duration.js';
import { checkNames, type DurationRule, readOption } from '../../util/option-rules.js';
import { checkShape } from './check-shape.js';
import type { CheckedMiddleware } from './middleware-settings.js';
import type { RateLimitModuleOptions } from './module-options.js';
import { MODULE_OPTIONS } from './options-table.js';
import { planSettings } from './plan-settings.js';
import { shedSettings } from './shed-settings.js';

const WHERE = 'RateLimitModule';

/** The options without a default: they may be undefined after their check. */
type OpenOption = {
  [Option in keyof typeof MODULE_OPTIONS]: (typeof MODULE_OPTIONS)[Option]['default'] extends undefined
    ? Option
    : never;
}[keyof typeof MODULE_OPTIONS];

/** The options that are durations. */
type DurationOption = {
  [Option in keyof typeof MODULE_OPTIONS]: (typeof MODULE_OPTIONS)[Option] extends DurationRule ? Option : never;
}[keyof typeof MODULE_OPTIONS];

/** The checked options, with every default. Durations are milliseconds. */
export type CheckedOptions = Pick<RateLimitModuleOptions, OpenOption> &
  Required<Omit<RateLimitModuleOptions, OpenOption | DurationOption | 'middleware'>> & {
    readonly middleware: CheckedMiddleware;
  } & {
    readonly [Option in DurationOption as `${Option}Ms`]: number;
  } & {
    /** The options as they were given, without defaults. */
    readonly given: Readonly<RateLimitModuleOptions>;
  };

/** @throws {RateLimitConfigError} naming the option, what was given and what would be right */
export function checkOptions(options: RateLimitModuleOptions): CheckedOptions {
  checkShape(options);
  if ((options as { readonly guard?: unknown }).guard !== undefined) {
    // forRoot has taken it out by now: what a factory returns cannot register a provider.
    throw new RateLimitConfigError(
      WHERE,
      'guard is a static option: give it beside useFactory or useClass, because what these return cannot register a guard',
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  checkNames(options, Object.keys(MODULE_OPTIONS), WHERE);
  const checked: Record<string, unknown> = { given: options };
  for (const [option, rule] of Object.entries(MODULE_OPTIONS)) {
    checked['isDuration' in rule ? `${option}Ms` : option] = readOption(options, option, rule, WHERE);
  }
  checkTogether(options);
  if (options.plan !== undefined) planSettings(options.plan);
  const all = checked as unknown as CheckedOptions;
  if (options.shed !== undefined) shedSettings(options.shed, all.middleware.policies);
  return all;
}

/** Checks what single options cannot tell. */
function checkTogether(options: RateLimitModuleOptions): void {
  const { redis, store, clock = 'redis', maxSkew } = options;
  const { decisionIdentity, onDecision } = options;
  if (redis !== undefined && redis !== '' && store !== undefined) {
    throw new RateLimitConfigError(
      WHERE,
      'redis and store are both given: a store of your own brings its own connection',
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  if (maxSkew !== undefined && clock === 'redis') {
    throw new RateLimitConfigError(
      WHERE,
      "maxSkew has no effect on Redis's clock: give clock: 'app' with it, or leave it out",
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  // A hash also names the identities of other events and of stats().
  if (decisionIdentity === 'tag' && onDecision === undefined) {
    throw new RateLimitConfigError(
      WHERE,
      'decisionIdentity has no effect without onDecision: give onDecision with it, or leave it out',
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
}

/** Plain numbers of durations below these milliseconds are probably meant in seconds. */
const SHORT_MS = { deadline: 10, denialCache: 10, maxSkew: 10 } as const;
const SHORT_CACHE_MS = 1_000;

/** Warnings of durations that work, but were perhaps meant in seconds. */
export function shortDurations(given: Readonly<RateLimitModuleOptions>): string[] {
  const options = Object.entries(SHORT_MS).map(([option, least]) =>
    meantInSeconds(option, given[option as keyof typeof SHORT_MS], least),
  );
  const all = [...options, meantInSeconds('plan.cacheFor', given.plan?.cacheFor, SHORT_CACHE_MS)];
  return all.flatMap((short) => (short === undefined ? [] : `${WHERE}: ${short}`));
}
