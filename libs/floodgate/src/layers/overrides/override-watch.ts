import { endedWithin } from '../../stores/loop-timer.js';
import { MissedAnswerError, type OverrideLog, type OverrideRecord } from '../../stores/override-log.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import { unheld } from '../../util/runtime.js';
import { reasonOf } from '../../util/thrown.js';
import type { ActiveOverrides } from './active-overrides.js';
import { overrideId, readBody } from './override-text.js';
import { unawaited } from '../../util/unawaited.js';

/** Milliseconds between two polls. With their round trips, every process obeys within a second. */
const INTERVAL_MS = 400;
/** Overrides to read in one call, which keeps Redis busy for about a millisecond. */
const PAGE = 1000;
/** Milliseconds after which an unanswered poll is given up. */
const LOST_MS = 10_000;
/** Milliseconds that the boot waits for the overrides. */
const BOOT_PATIENCE_MS = 1000;

/**
 * Keeps a process's overrides up to date: asks every 400 ms for the version of the last change, and reads what has changed
 * since, and the notices of other processes. Only one poll is under way at a time. It does not keep the process alive.
 *
 * While the store does not answer, the last known overrides stay in force.
 */
export class OverrideWatch {
  /** Told of each notice, those of this process included; undefined: some were missed. */
  onNotice: ((notice: string | undefined) => void) | undefined;
  private known = '';
  /** The version of the last notice that was heard. */
  private heard = '';
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private asking = false;
  /** Changes that this process made during a poll: the older answer must not undo them. */
  private readonly ahead = new Map<string, OverrideRecord>();
  /** Versions of this process's own changes that no poll has returned yet. If a poll lacks them, Redis has lost them. */
  private unconfirmed = new Set<number>();
  /** The last problem that was logged. */
  private lastWarning = '';

  constructor(
    private readonly log: OverrideLog,
    private readonly active: ActiveOverrides,
    private readonly logger: Logger,
  ) {}

  /** Reads the overrides and starts polling. Waits a short time for the first answer. Never rejects. */
  async start(): Promise<void> {
    if (!this.log.shared) {
      this.active.loaded = true;
      return;
    }
    const first = this.run();
    await endedWithin(BOOT_PATIENCE_MS, first, false);
    if (!this.active.loaded) this.sayProblem(new Error('it does not answer yet'));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** Obeys a change of this process at once. */
  changed(record: OverrideRecord, nowMs: number, sentAtMs: number): void {
    this.active.sync(nowMs, sentAtMs);
    this.active.put(record);
    this.active.removeEnded();
    this.unconfirmed.add(record.version);
    if (this.asking) this.ahead.set(idOf(record), record);
  }

  private async run(): Promise<void> {
    this.asking = true;
    let soon = false;
    try {
      soon = await this.ask();
      if (!this.stopped) this.sayWell();
    } catch (error) {
      if (!this.stopped) this.sayProblem(error);
      // A poll on a lost connection may never be answered. Wait for it before the next poll, so that polls do not pile up.
      if (error instanceof MissedAnswerError) await endedWithin(LOST_MS, error.settled, false);
    }
    this.asking = false;
    this.ahead.clear();
    if (!this.stopped) this.timer = unheld(setTimeout(() => unawaited(this.run()), soon ? 0 : INTERVAL_MS));
  }

  /** @returns whether there is more to read */
  private async ask(): Promise<boolean> {
    const { active, log } = this;
    const sentAt = active.readProcessMs();
    const { nowMs, version, reload, records, heard, notices = [undefined] } = await log.poll(this.known, this.heard);
    if (this.stopped) return false;
    active.sync(nowMs, sentAt);
    this.heard = heard;
    if (this.onNotice !== undefined) notices.forEach(this.onNotice);
    // A removal that this process cannot read may be of any override.
    if (reload || records.some((one) => one.removed && readBody(one) === undefined)) return this.load(version);
    for (const record of records) {
      if (!((this.ahead.get(idOf(record))?.version ?? 0) > record.version)) active.put(record);
      this.unconfirmed.delete(record.version);
      this.known = String(record.version);
    }
    active.removeEnded();
    if (this.known !== version) return records.length > 0 || this.load(version);
    return this.unconfirmed.size > this.unconfirmedAhead().size && this.load(version);
  }

  /** Reads all overrides. Changes that come meanwhile are read again: they are later than `version`. */
  private async load(version: string): Promise<boolean> {
    // If nothing was ever changed there is nothing to read, and the Redis user may lack the right to read.
    const all = version === '0' ? [] : await this.readAll();
    if (this.stopped) return false;
    this.active.removeEnded();
    const before = this.active.size;
    this.active.replace([...all, ...this.ahead.values()]);
    this.active.removeEnded();
    const lost = before - this.active.size;
    if (this.active.loaded && lost > 0) {
      this.logger.warn(
        withHelp(
          `All overrides were read again, and there are ${lost} less (${this.active.size} in force): Redis may have lost some, or a process ` +
            'with another identitySecret has changed them',
          'FG_OVERRIDES_UNKNOWN',
        ),
      );
    }
    this.known = version;
    this.unconfirmed = this.unconfirmedAhead();
    return false;
  }

  private async readAll(): Promise<OverrideRecord[]> {
    const all: OverrideRecord[] = [];
    for (let after = 0; ;) {
      const { records } = await this.log.page(after, PAGE);
      if (records.length === 0) return all;
      for (const record of records) all.push(record);
      after = records.at(-1)!.version;
    }
  }

  /** The unconfirmed changes that were made during the poll: its answer may lack them. */
  private unconfirmedAhead(): Set<number> {
    const ahead = Array.from(this.ahead.values(), ({ version }) => version);
    return new Set(ahead.filter((version) => this.unconfirmed.has(version)));
  }

  /**
   * Logs a problem once for each outage. The store itself logs that Redis is unavailable, so that this is logged only before
   * the first answer.
   */
  private sayProblem(error: unknown): void {
    const problem = reasonOf(error);
    if (
      this.active.loaded
        ? this.lastWarning === problem || (error as Error).name !== 'ReplyError'
        : this.lastWarning !== ''
    )
      return;
    this.lastWarning = problem;
    const state = this.active.loaded
      ? `The last known overrides stay in force (${this.active.size})`
      : 'No overrides are in force';
    this.logger.warn(withHelp(`${state} until Redis tells which there are: ${problem}`, 'FG_OVERRIDES_UNKNOWN'));
  }

  private sayWell(): void {
    this.active.loaded = true;
    if (this.lastWarning !== '') this.logger.log(`Overrides are read from Redis: ${this.active.size} in force`);
    this.lastWarning = '';
  }
}

function idOf(record: OverrideRecord): string {
  const body = readBody(record);
  return body === undefined ? '' : overrideId(body);
}
