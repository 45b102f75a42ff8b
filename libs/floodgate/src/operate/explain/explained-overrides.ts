import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { OverrideLog, OverrideRecord } from '../../stores/override-log.js';
import type { ActiveOverride } from '../../layers/overrides/override-table.js';
import { overrideId, readBody } from '../../layers/overrides/override-text.js';
import { isoOf } from './explained-outcome.js';
import type { ExplainedOverride } from './explanation.js';

const MAX_RECORDS = 100;

/** Explains overrides by the store's records of them. */
export class ExplainedOverrides {
  /**
   * Override records of the store by version, cached because a page may ask several times a second. Each change has a version
   * of its own.
   */
  private readonly records = new Map<number, OverrideRecord>();

  constructor(private readonly overrides: Pick<OverrideLog, 'get'>) {}

  /** The store's record of an override. If the store does not answer: the override as this process knows it. */
  async of(policy: BoundPolicy, tag: string, active: ActiveOverride): Promise<ExplainedOverride> {
    const { version, change, scope, endsAtMs } = active;
    const identity = policy.globalKey === undefined ? tag : undefined;
    const same = await this.recordOf(overrideId({ policy: policy.name, identity, scope }), version);
    const { reason, author } = (same && readBody(same)) ?? {};
    return {
      version,
      change,
      scope: scope ?? null,
      expiresAt: endsAtMs === 0 ? null : isoOf(endsAtMs),
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
