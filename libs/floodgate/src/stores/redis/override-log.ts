import { shown } from '../../util/config-error.js';
import {
  NOTICE_MS,
  OVERRIDE_BOUNDS,
  type OverrideBounds,
  type OverrideChanges,
  type OverrideLog,
  type OverrideOutcome,
  type OverrideRecord,
  type OverrideRecords,
  type OverrideReply,
  type OverrideWrite,
} from '../override-log.js';
import { RateLimitStoreError } from '../store.js';
import { OVERRIDES } from './batch/programs.js';
import { type LogConnection, LogCalls } from './log-calls.js';

/** The parts of the keys behind the hash tag, in the order of KEYS. */
const KEYS = ['version', 'records', 'versions', 'ends', 'changes', 'notice', 'notices'];
/** Keeps overrides in Redis, for all processes. The header of lua/overrides.lua describes the wire. */
export class RedisOverrideLog implements OverrideLog {
  readonly shared = true;
  private readonly keys: readonly string[];
  private readonly calls: LogCalls;

  /** @param keyOf the key with this last part; all of them share one slot */
  constructor(
    connection: LogConnection,
    keyOf: (part: string) => string,
    private readonly bounds: OverrideBounds = OVERRIDE_BOUNDS,
    patienceMs?: number,
  ) {
    this.keys = KEYS.map((part) => keyOf(part));
    this.calls = new LogCalls(connection, OVERRIDES, patienceMs);
  }

  async poll(known: string, heard: string): Promise<OverrideChanges> {
    const { rest, ...reply } = await this.run('poll', known, heard);
    const [last, count, ...more] = rest;
    if (last === undefined || count === undefined) throw unusable(rest);
    const isKnown = count !== '-1';
    const length = isKnown ? Number(count) : 0;
    const [state, ...changes] = more.slice(length);
    return {
      ...reply,
      reload: state === 'load',
      records: changesOf(changes),
      heard: last,
      notices: isKnown ? more.slice(0, length) : undefined,
    };
  }

  async tell(notice: string): Promise<string> {
    const { rest } = await this.run('tell', notice, String(this.bounds.notices), String(NOTICE_MS));
    return rest[0] ?? '0';
  }

  async page(after: number, count: number): Promise<OverrideRecords> {
    const { rest, ...reply } = await this.run('page', String(after), String(count));
    return { ...reply, records: rest.filter((text) => text !== '').map((text) => recordOf(text, false)) };
  }

  async history(before: number | undefined, count: number): Promise<OverrideRecords> {
    const { rest, ...reply } = await this.run('history', String(before ?? ''), String(count));
    return { ...reply, records: changesOf(rest) };
  }

  async get(id: string): Promise<OverrideRecord | undefined> {
    const { rest } = await this.run('get', id);
    return rest[0] === '' ? undefined : recordOf(rest[0], false);
  }

  set(write: OverrideWrite, ttlMs: number | undefined): Promise<OverrideOutcome> {
    const { overrides, changes } = this.bounds;
    return this.change('set', write, String(ttlMs ?? ''), String(overrides), String(changes));
  }

  remove(write: OverrideWrite): Promise<OverrideOutcome> {
    return this.change('remove', write, '', '', String(this.bounds.changes));
  }

  private async change(operation: 'set' | 'remove', write: OverrideWrite, ...rest: string[]): Promise<OverrideOutcome> {
    const { id, ifVersion, body } = write;
    const reply = await this.run(operation, id, String(ifVersion ?? ''), body, ...rest);
    const [outcome, detail] = reply.rest;
    if (outcome === 'none') return { outcome };
    if (outcome === 'conflict') return { outcome, version: Number(detail) };
    if (outcome === 'full') return { outcome, count: Number(detail) };
    return { outcome: 'changed', nowMs: reply.nowMs, record: recordOf(detail, outcome === 'remove') };
  }

  private async run(...args: string[]): Promise<OverrideReply & { readonly rest: readonly string[] }> {
    return checked(await this.calls.run(this.keys, args));
  }
}

function checked(reply: unknown): OverrideReply & { readonly rest: readonly string[] } {
  if (!Array.isArray(reply) || reply.length < 2 || !reply.every((part) => typeof part === 'string')) {
    throw unusable(reply);
  }
  const [now, version, ...rest] = reply as [string, string, ...string[]];
  if (!/^\d+$/.test(now) || !/^\d+$/.test(version)) throw unusable(reply);
  return { nowMs: Number(now), version, rest };
}

/** Pairs of `'set'` or `'removed'`, and a record. */
function changesOf(parts: readonly string[]): OverrideRecord[] {
  const records: OverrideRecord[] = [];
  for (let i = 0; i < parts.length; i += 2) records.push(recordOf(parts[i + 1], parts[i] === 'removed'));
  return records;
}

function recordOf(text: string | undefined, removed: boolean): OverrideRecord {
  const match = /^(\d+) (\d+) (\d+) (.*)$/s.exec(text ?? '');
  if (match === null) throw unusable(text);
  const [, version, setAt, endsAt, body] = match;
  return { removed, version: Number(version), setAtMs: Number(setAt), endsAtMs: Number(endsAt), body: body! };
}

function unusable(reply: unknown): RateLimitStoreError {
  return new RateLimitStoreError(
    `a key of the overrides holds ${shown(reply)}, which this version cannot read: another program writes under the key prefix`,
  );
}
