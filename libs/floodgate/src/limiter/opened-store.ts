import type { Sealing } from '../identity/secret/sealing.js';
import { keyOf } from '../policy/key.js';
import { Deadlines } from '../stores/deadlines.js';
import type { Denials } from '../stores/denials.js';
import { MemoryOverrideLog } from '../stores/memory/override-log.js';
import type { OverrideLog } from '../stores/override-log.js';
import type { ReportBoard } from '../stores/report-board.js';
import type { Clock, RateLimitStore } from '../stores/store.js';
import { traitsOf } from '../stores/traits.js';
import { RateLimitConfigError } from '../util/config-error.js';

/** The store of an application, as the limiter gets it. */
export interface OpenedStore {
  readonly store: RateLimitStore;
  readonly deadlines: Deadlines;
  readonly denials?: Denials | undefined;
  /** The log of overrides: in the store's Redis, or in this process. */
  readonly overrides: OverrideLog;
  /** Keeps identities out of the store; undefined: keys and overrides show them. */
  readonly sealing?: Sealing;
  /** Whether the limiter opened the store, and closes it. */
  readonly owned: boolean;
  /** One line for the log at boot. */
  readonly description: string;
  /** Given options without effect. */
  readonly warning?: string;
  /** The clock of decisions without the store; default that of the process. */
  readonly fallbackClock?: Clock;
}

/**
 * The log of overrides. It is kept beside the limits if the store has a place for it, otherwise in this process. There it uses
 * the store's clock, if that is a test's.
 */
export function overrideLogOf(store: RateLimitStore, { keyPrefix }: { readonly keyPrefix: string }): OverrideLog {
  const { overrideLog } = traitsOf(store);
  if (overrideLog !== undefined) return overrideLog((part) => keyOf(keyPrefix, 'overrides', `:${part}`));
  const { clock } = store as { readonly clock?: unknown };
  return new MemoryOverrideLog(typeof clock === 'function' ? (clock as Clock) : undefined);
}

/** The reports of all processes beside the limits; undefined if the store has no place for them. */
export function reportBoardOf({ store, sealing }: OpenedStore, keyPrefix: string): ReportBoard | undefined {
  const board = traitsOf(store).reportBoard?.((part) => keyOf(keyPrefix, 'rejected', `:${part}`));
  return board && sealing ? sealing.reports(board) : board;
}

export function noEffect(where: string, option: string, when: string, advice: string): RateLimitConfigError {
  return new RateLimitConfigError(where, `${option} has no effect ${when}: ${advice}`, 'FG_OPTION_WITHOUT_EFFECT');
}

/** A store that the application opens and closes, with nothing beside it. */
export function storeAlone(store: RateLimitStore, deadlineMs: number): OpenedStore {
  return {
    store,
    deadlines: new Deadlines(deadlineMs),
    owned: false,
    overrides: new MemoryOverrideLog(),
    description: '',
  };
}
