import { RateLimitStoreError } from './store.js';

/** An override, or its removal, as a store keeps it. Instants are milliseconds since 1970 by the store's clock. */
export interface OverrideRecord {
  readonly removed: boolean;
  /** Grows with every change of any override. */
  readonly version: number;
  readonly setAtMs: number;
  /** 0: never. */
  readonly endsAtMs: number;
  /** What the limiter has written. */
  readonly body: string;
}

/** The members of every answer. */
export interface OverrideReply {
  readonly nowMs: number;
  /** The version of the last change of any override; `'0'` before the first one. */
  readonly version: string;
}

/** Some records, in the order that the question asks for. */
export interface OverrideRecords extends OverrideReply {
  readonly records: readonly OverrideRecord[];
}

/** The changes and the notices since a version of each. */
export interface OverrideChanges extends OverrideRecords {
  /** Whether the changes since then are no longer kept: all overrides have to be read. */
  readonly reload: boolean;
  /** The version of the last notice that the caller has heard now. */
  readonly heard: string;
  /** The notices since the last one, in order; undefined: some of them are no longer kept. */
  readonly notices: readonly string[] | undefined;
}

/** The outcome of a change. */
export type OverrideOutcome =
  | { readonly outcome: 'changed'; readonly nowMs: number; readonly record: OverrideRecord }
  /** The version of the override that is there; 0 if there is none. */
  | { readonly outcome: 'conflict'; readonly version: number }
  | { readonly outcome: 'full'; readonly count: number }
  | { readonly outcome: 'none' };

/** A change of one override. */
export interface OverrideWrite {
  readonly id: string;
  readonly body: string;
  /** The version that the override must have, 0 for none; undefined: any. */
  readonly ifVersion: number | undefined;
}

/** How much is kept. */
export interface OverrideBounds {
  readonly overrides: number;
  readonly changes: number;
  readonly notices: number;
}

/**
 * Keeps overrides and their last changes, each change as one step. An override that has ended counts as none. It keeps notices as well:
 * what one process tells all others, for a day.
 *
 * Twins: `RedisOverrideLog` for all processes, `MemoryOverrideLog` for one.
 */
export interface OverrideLog {
  /** Whether other processes change the same overrides, so that `poll` has to be asked. */
  readonly shared: boolean;
  /** Milliseconds of the clock that decides in this process; undefined: that of the process. */
  readonly processMs?: () => number;
  /**
   * @param known the version that the caller knows; empty: none
   * @param heard the version of the last notice that it has heard; empty: none
   */
  poll(known: string, heard: string): Promise<OverrideChanges>;
  /** Tells a notice to all processes. Returns its version. */
  tell(notice: string): Promise<string>;
  /** Overrides whose version is later than `after`, in the order of their versions. */
  page(after: number, count: number): Promise<OverrideRecords>;
  /** Changes before the version `before` (undefined: all), the last one first. */
  history(before: number | undefined, count: number): Promise<OverrideRecords>;
  get(id: string): Promise<OverrideRecord | undefined>;
  /** @param ttlMs milliseconds until it ends; undefined: it stays */
  set(write: OverrideWrite, ttlMs: number | undefined): Promise<OverrideOutcome>;
  remove(write: OverrideWrite): Promise<OverrideOutcome>;
}

/** How much a log keeps by default. */
export const OVERRIDE_BOUNDS: OverrideBounds = { overrides: 100_000, changes: 10_000, notices: 10_000 };

/** Milliseconds for which notices are kept: a day, as no process remembers for longer what they are about. */
export const NOTICE_MS = 86_400_000;

/** The store did not answer in time. It may answer later. */
export class MissedAnswerError extends RateLimitStoreError {
  /** @param settled resolves when the answer, or a failure, has come */
  constructor(
    message: string,
    readonly settled: Promise<void>,
  ) {
    super(message);
  }
}
