import type { DenialCache } from '../../engine/layers/denial-cache.js';
import { keyOf } from '../../policy/key.js';
import type { Deadlines } from '../../stores/deadlines.js';
import { MemoryOverrideLog } from '../../stores/memory/override-log.js';
import type { OverrideLog } from '../../stores/override-log.js';
import type { Clock, RateLimitStore } from '../../stores/store.js';
import { traitsOf } from '../../stores/traits.js';
import { RateLimitConfigError } from '../../util/config-error.js';
import type { CheckedOptions } from '../options/check-options.js';

/** The store of an application, as the runtime gets it. */
export interface OpenedStore {
  readonly store: RateLimitStore;
  readonly deadlines: Deadlines;
  readonly denials?: DenialCache | undefined;
  /** The log of overrides: in the store's Redis, or in this process. */
  readonly overrides: OverrideLog;
  /** Whether the module opened the store, and closes it. */
  readonly owned: boolean;
  /** One line for the log at boot. */
  readonly description: string;
  /** Given options without effect. */
  readonly warning?: string;
}

/**
 * The log of overrides. It is kept beside the limits if the store has a place for it, otherwise in this process. There it uses
 * the store's clock, if that is a test's.
 */
export function overrideLogOf(store: RateLimitStore, { keyPrefix }: CheckedOptions): OverrideLog {
  const { overrideLog } = traitsOf(store);
  if (overrideLog !== undefined) return overrideLog((part) => keyOf(keyPrefix, 'overrides', `:${part}`));
  const { clock } = store as { readonly clock?: unknown };
  return new MemoryOverrideLog(typeof clock === 'function' ? (clock as Clock) : undefined);
}

export function noEffect(option: string, where: string, advice: string): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimitModule',
    `${option} has no effect ${where}: ${advice}`,
    'FG_OPTION_WITHOUT_EFFECT',
  );
}
