import type { OverrideRecord } from '../../stores/override-log.js';
import type { OverrideChange, OverrideHistoryEntry } from './override.js';

/** The identity of an override for every client of its policy. No tag is so: each has a kind and a colon. */
export const EVERYONE = 'everyone';

/** What an override is about, with the identity as keys contain it. */
export interface OverrideKey {
  readonly policy: string;
  readonly identity: string | undefined;
  readonly scope: string | undefined;
}

/** What a record says beside its version and its instants. */
export interface OverrideBody extends OverrideKey {
  /** Undefined: it was removed. */
  readonly change?: OverrideChange | undefined;
  readonly reason?: string | undefined;
  readonly author?: string | undefined;
}

/** The id under which a store keeps an override. None of its three parts has a line break. */
export function overrideId({ policy, identity, scope }: OverrideKey): string {
  return `${identity ?? ''}\n${policy}\n${scope ?? ''}`;
}

/** The body of a record. JSON leaves out what is undefined. */
export function bodyText({ policy, identity, scope, change, reason, author }: OverrideBody): string {
  return JSON.stringify({ policy, identity, scope, change, reason, author });
}

/** The content of a record; undefined for one that this version cannot read: another version may have written it. */
export function readBody({ body }: OverrideRecord): OverrideBody | undefined {
  try {
    const read = JSON.parse(body) as Partial<OverrideBody> | null;
    if (typeof read?.policy !== 'string') return undefined;
    const { policy, identity, scope, change, reason, author } = read;
    if (![identity, scope, reason, author].every((text) => text === undefined || typeof text === 'string')) {
      return undefined;
    }
    if (change !== undefined && (typeof change !== 'object' || change === null)) return undefined;
    return { policy, identity, scope, change, reason, author };
  } catch {
    return undefined;
  }
}

/** A record as a change of an override; undefined for one that cannot be read. */
export function readEntry(record: OverrideRecord): OverrideHistoryEntry | undefined {
  const body = readBody(record);
  if (body === undefined || (body.change === undefined) !== record.removed) return undefined;
  const { policy, identity, scope, change, reason, author } = body;
  const { version, setAtMs, endsAtMs, removed } = record;
  return {
    action: removed ? 'removed' : 'set',
    policy,
    identity,
    scope,
    change,
    version,
    setAtMs,
    expiresAtMs: endsAtMs === 0 ? null : endsAtMs,
    reason,
    author,
  };
}
