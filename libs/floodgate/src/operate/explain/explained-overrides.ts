import type { OverrideLog, OverrideRecord } from '../../stores/override-log.js';
import type { ActiveOverride } from '../../layers/overrides/override-table.js';
import { overrideId, readBody } from '../../layers/overrides/override-text.js';
import { isoOf } from './explained-outcome.js';
import type { ExplainedOverride } from './explanation.js';
import type { TableOverride } from './limit-table.js';

const MAX_RECORDS = 100;

/** An override as this process knows it, as plain data. */
export function shownOverride({ version, change, identity, scope, endsAtMs }: ActiveOverride): TableOverride {
  const expiresAt = endsAtMs === 0 ? null : isoOf(endsAtMs);
  return { version, change, identity: identity ?? null, scope: scope ?? null, expiresAt };
}

/** Explains overrides by the store's records of them. */
export class ExplainedOverrides {
  /**
   * Override records of the store by version, cached because a page may ask several times a second. Each change has a version
   * of its own.
   */
  private readonly records = new Map<number, OverrideRecord>();

  constructor(private readonly overrides: Pick<OverrideLog, 'get'>) {}

  /** The store's record of an override. If the store does not answer: the override as this process knows it. */
  async of(active: ActiveOverride): Promise<ExplainedOverride> {
    const same = await this.recordOf(overrideId(active), active.version);
    const { reason, author } = (same && readBody(same)) ?? {};
    return {
      ...shownOverride(active),
      isComplete: same !== undefined,
      setAt: same === undefined ? null : isoOf(same.setAtMs),
      reason: reason ?? null,
      author: author ?? null,
    };
  }

  /** The store's record; undefined if the store does not answer, or has a newer version that has not reached this process. */
  private async recordOf(id: string, version: number): Promise<OverrideRecord | undefined> {
    const known = this.records.get(version);
    if (known !== undefined) return known;
    const record = await this.overrides.get(id).catch(() => undefined);
    if (record?.version !== version) return undefined;
    if (this.records.size >= MAX_RECORDS) this.records.clear(); // they are asked for again
    this.records.set(version, record);
    return record;
  }
}
