import { RateLimitConfigError } from '../../util/config-error.js';
import { meantInSeconds } from '../../util/duration.js';
import { type Checked, readOptions } from '../../limiter/options-table.js';
import { checkShape } from './check-shape.js';
import type { CheckedMiddleware } from './middleware-settings.js';
import type { RateLimitModuleOptions } from './module-options.js';
import { MODULE_OPTIONS } from './options-table.js';
import { planSettings } from './plan-settings.js';
import { shedSettings } from './shed-settings.js';

const WHERE = 'RateLimitModule';

/** The checked options, with every default. Durations are milliseconds. */
export type CheckedOptions = Omit<Checked<RateLimitModuleOptions, typeof MODULE_OPTIONS>, 'middleware'> & {
  readonly middleware: CheckedMiddleware;
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
  const checked = readOptions(options, MODULE_OPTIONS, WHERE) as unknown as CheckedOptions;
  if (options.plan !== undefined) planSettings(options.plan);
  if (options.shed !== undefined) shedSettings(options.shed, checked.middleware.policies);
  return checked;
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
