import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { OverrideLog, OverrideOutcome, OverrideRecord } from '../../stores/override-log.js';
import { RateLimitStoreError } from '../../stores/store.js';
import { shown } from '../../util/config-error.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import type { CountedIdentities } from '../identities/counted-identities.js';
import type { ActiveOverrides } from '../../layers/overrides/active-overrides.js';
import { OverrideConflictError, TooManyOverridesError } from './errors.js';
import type {
  OverrideChange,
  OverrideHistoryEntry,
  OverrideOptions,
  OverridePage,
  OverridePageOptions,
  OverrideRemoval,
  OverrideTarget,
  RateLimitOverride,
} from '../../layers/overrides/override.js';
import { checkChange, placesOf, readOptions, readPage, readRemoval, readTarget } from './override-checks.js';
import { bodyText, EVERYONE, type OverrideKey, overrideId, readEntry } from '../../layers/overrides/override-text.js';
import type { OverrideWatch } from '../../layers/overrides/override-watch.js';

/** The policies that an override can be about. */
export interface OverridablePolicies {
  /** The names of all policies that this process knows. */
  names(): readonly string[];
  /** The policies of this name, one for each scope. */
  places(name: string): readonly BoundPolicy[];
}

/** Changes to read in one call when the history of one override is searched. */
const HISTORY_PAGE = 1000;

/** The methods of `RateLimitOverrides`. */
export class OverrideCalls {
  constructor(
    private readonly log: OverrideLog,
    private readonly active: ActiveOverrides,
    private readonly watch: OverrideWatch,
    private readonly policies: OverridablePolicies,
    private readonly identities: Pick<CountedIdentities, 'expect' | 'tagOf' | 'ipv6Prefix'>,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  async set(target: OverrideTarget, change: OverrideChange, options?: OverrideOptions): Promise<RateLimitOverride> {
    const where = 'RateLimitOverrides.set';
    const key = this.keyOf(target, where);
    const { ttlMs, ifVersion, reason, author } = readOptions(options, where);
    const names = this.policies.names();
    const places = placesOf(key, this.policies.places(key.policy), names, where);
    if (key.identity !== undefined && key.identity !== EVERYONE) {
      this.identities.expect(places, this.identities.tagOf(key.identity, where), where);
    }
    const warnings = checkChange(key, change, places, where);
    for (const warning of new Set(warnings)) this.logger.warn(withHelp(`${where}: ${warning}`, 'FG_POLICY_NUMBERS'));
    const write = { id: overrideId(key), ifVersion, body: bodyText({ ...key, change, reason, author }) };
    const record = await this.changed(key, ifVersion, where, () => this.log.set(write, ttlMs));
    return overrideOf(record!)!;
  }

  async get(target: OverrideTarget): Promise<RateLimitOverride | undefined> {
    const where = 'RateLimitOverrides.get';
    const key = this.keyOf(target, where);
    const record = await answered(where, () => this.log.get(overrideId(key)));
    return record && overrideOf(record);
  }

  async list(options?: OverridePageOptions): Promise<OverridePage<RateLimitOverride>> {
    const where = 'RateLimitOverrides.list';
    const { cursor = 0, limit } = readPage(options, where);
    const items: RateLimitOverride[] = [];
    for (let after = cursor; ;) {
      const count = limit - items.length;
      const { nowMs, records } = await answered(where, () => this.log.page(after, count));
      for (const record of records) {
        const item = record.endsAtMs > 0 && record.endsAtMs <= nowMs ? undefined : overrideOf(record);
        if (item !== undefined) items.push(item);
        after = record.version;
      }
      if (records.length < count) return { items, cursor: undefined };
      if (items.length === limit) return { items, cursor: String(after) };
    }
  }

  async remove(target: OverrideTarget, options?: OverrideRemoval): Promise<boolean> {
    const where = 'RateLimitOverrides.remove';
    const key = this.keyOf(target, where);
    const { ifVersion, reason, author } = readRemoval(options, where);
    const write = { id: overrideId(key), ifVersion, body: bodyText({ ...key, reason, author }) };
    return (await this.changed(key, ifVersion, where, () => this.log.remove(write))) !== undefined;
  }

  async history(target?: OverrideTarget, options?: OverridePageOptions): Promise<OverridePage<OverrideHistoryEntry>> {
    const where = 'RateLimitOverrides.history';
    const id = target === undefined ? undefined : overrideId(this.keyOf(target, where));
    const { cursor, limit } = readPage(options, where);
    const items: OverrideHistoryEntry[] = [];
    for (let before = cursor; ;) {
      const count = id === undefined ? limit - items.length : HISTORY_PAGE;
      const { records } = await answered(where, () => this.log.history(before, count));
      for (const record of records) {
        before = record.version;
        const entry = readEntry(record);
        if (entry === undefined || (id !== undefined && overrideId(entry) !== id)) continue;
        if (items.push(entry) === limit) return { items, cursor: String(before) };
      }
      if (records.length < count) return { items, cursor: undefined };
    }
  }

  private keyOf(target: OverrideTarget, where: string): OverrideKey {
    return readTarget(target, where, this.identities.ipv6Prefix);
  }

  private async changed(
    key: OverrideKey,
    ifVersion: number | undefined,
    where: string,
    change: () => Promise<OverrideOutcome>,
  ): Promise<OverrideRecord | undefined> {
    const sentAt = this.active.readProcessMs();
    const outcome = await answered(where, change);
    if (outcome.outcome === 'conflict') throw new OverrideConflictError(textOf(key), ifVersion!, outcome.version);
    if (outcome.outcome === 'full') throw new TooManyOverridesError(outcome.count);
    if (outcome.outcome === 'none') return undefined;
    this.watch.changed(outcome.record, outcome.nowMs, sentAt);
    return outcome.record;
  }
}

/** Returns the store's answer, or throws its failure as a `RateLimitStoreError`. */
export async function answered<T>(where: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw new RateLimitStoreError(`${where}: ${(error as Error).message}`, { cause: error });
  }
}

function overrideOf(record: OverrideRecord): RateLimitOverride | undefined {
  const entry = readEntry(record);
  if (entry?.change === undefined) return undefined;
  const { action: _, change, ...rest } = entry;
  return { ...rest, change };
}

function textOf({ policy, identity, scope }: OverrideKey): string {
  const of = identity === undefined ? 'all clients' : identity === EVERYONE ? EVERYONE : 'one identity';
  return `${of} under policy ${shown(policy)}${scope === undefined ? '' : ` of ${scope}`}`;
}
