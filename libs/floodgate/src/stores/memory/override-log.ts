import { monotonicClock } from '../clock.js';
import {
  NOTICE_MS,
  OVERRIDE_BOUNDS,
  type OverrideBounds,
  type OverrideChanges,
  type OverrideLog,
  type OverrideOutcome,
  type OverrideRecord,
  type OverrideRecords,
  type OverrideWrite,
} from '../override-log.js';
import type { Clock } from '../store.js';

/** Keeps overrides in this process: the twin of lua/overrides.lua. They end with the process. */
export class MemoryOverrideLog implements OverrideLog {
  readonly shared: boolean = false;
  readonly processMs = (): number => this.clock() / 1000;
  /** The records in the order of their versions. */
  private readonly records = new Map<string, OverrideRecord>();
  private readonly changes: OverrideRecord[] = [];
  private version = 0;
  private notices: { readonly version: number; readonly notice: string }[] = [];

  constructor(
    private readonly clock: Clock = monotonicClock,
    private readonly bounds: OverrideBounds = OVERRIDE_BOUNDS,
  ) {}

  async poll(known: string, heard: string): Promise<OverrideChanges> {
    const version = String(this.version);
    const at = this.changes.findIndex((change) => String(change.version) === known);
    const records = at < 0 ? [] : this.changes.slice(at + 1);
    return { nowMs: this.now(), version, records, reload: at < 0 && known !== version, ...this.noticesAfter(heard) };
  }

  async tell(notice: string): Promise<string> {
    const nowMs = this.now();
    this.removeOldNotices(nowMs);
    const version = Math.max((this.notices.at(-1)?.version ?? 0) + 1, nowMs);
    this.notices.push({ version, notice });
    if (this.notices.length > this.bounds.notices) this.notices.shift();
    return String(version);
  }

  async page(after: number, count: number): Promise<OverrideRecords> {
    const records: OverrideRecord[] = [];
    for (const record of this.records.values()) {
      if (record.version > after && records.push(record) === count) break;
    }
    return { nowMs: this.now(), version: String(this.version), records };
  }

  async history(before = Infinity, count: number): Promise<OverrideRecords> {
    const records = this.changes.filter(({ version }) => version < before).slice(-count);
    return { nowMs: this.now(), version: String(this.version), records: records.toReversed() };
  }

  async get(id: string): Promise<OverrideRecord | undefined> {
    return this.current(id, this.now());
  }

  async set(write: OverrideWrite, ttlMs: number | undefined): Promise<OverrideOutcome> {
    const nowMs = this.now();
    const current = this.current(write.id, nowMs);
    const conflict = conflictOf(write, current);
    if (conflict !== undefined) return conflict;
    if (current === undefined) {
      this.removeEnded(nowMs);
      const { size } = this.records;
      if (size >= this.bounds.overrides) return { outcome: 'full', count: size };
    }
    const record = this.changed(write, nowMs, ttlMs === undefined ? 0 : nowMs + ttlMs, false);
    this.records.delete(write.id); // so that it comes last
    this.records.set(write.id, record);
    return { outcome: 'changed', nowMs, record };
  }

  async remove(write: OverrideWrite): Promise<OverrideOutcome> {
    const nowMs = this.now();
    const current = this.current(write.id, nowMs);
    const conflict = conflictOf(write, current);
    if (conflict !== undefined) return conflict;
    if (current === undefined) return { outcome: 'none' };
    this.records.delete(write.id);
    return { outcome: 'changed', nowMs, record: this.changed(write, nowMs, 0, true) };
  }

  private current(id: string, nowMs: number): OverrideRecord | undefined {
    const record = this.records.get(id);
    return record === undefined || hasEnded(record, nowMs) ? undefined : record;
  }

  private changed({ body }: OverrideWrite, nowMs: number, endsAtMs: number, removed: boolean): OverrideRecord {
    this.version = Math.max(this.version + 1, nowMs);
    const record = { removed, version: this.version, setAtMs: nowMs, endsAtMs, body };
    this.changes.push(record);
    if (this.changes.length > this.bounds.changes) this.changes.shift();
    return record;
  }

  private noticesAfter(heard: string): Pick<OverrideChanges, 'heard' | 'notices'> {
    this.removeOldNotices(this.now());
    const last = String(this.notices.at(-1)?.version ?? 0);
    const at = this.notices.findIndex(({ version }) => String(version) === heard);
    const isKnown = at >= 0 || heard === '0' || last === '0';
    return { heard: last, notices: isKnown ? this.notices.slice(at + 1).map(({ notice }) => notice) : undefined };
  }

  private removeOldNotices(nowMs: number): void {
    if ((this.notices.at(-1)?.version ?? Infinity) <= nowMs - NOTICE_MS) this.notices = [];
  }

  private removeEnded(nowMs: number): void {
    for (const [id, record] of this.records) if (hasEnded(record, nowMs)) this.records.delete(id);
  }

  private now(): number {
    return Math.floor(this.processMs());
  }
}

function hasEnded({ endsAtMs }: OverrideRecord, nowMs: number): boolean {
  return endsAtMs > 0 && endsAtMs <= nowMs;
}

function conflictOf({ ifVersion }: OverrideWrite, current: OverrideRecord | undefined): OverrideOutcome | undefined {
  const version = current?.version ?? 0;
  return ifVersion === undefined || ifVersion === version ? undefined : { outcome: 'conflict', version };
}
