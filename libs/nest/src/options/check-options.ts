import { RateLimitConfigError } from 'floodgate';
import type { Checked } from 'floodgate/internal';
import { readOptions } from 'floodgate/internal-boot';
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
    // `forRoot` has taken `guard` out by now. A factory returns it too late to register a provider.
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
