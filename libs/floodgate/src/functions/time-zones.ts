import { timeZoneNamed } from '../algorithms/fixed-window/calendar.js';
import type { RequestOf } from '../identity/request-function.js';
import { type BoundPolicy, inTimeZone } from '../policy/bound-policy.js';
import { shown } from '../util/config-error.js';
import { ownText } from '../util/flat-text.js';
import { LruMap } from '../util/lru-map.js';
import type { UserFunctions } from './user-functions.js';

/** The time zone of a request whose function fails, and of a client whose zone is not known. */
export const DEFAULT_ZONE = 'UTC';

/** The most zone names to keep: the recent ones that functions returned, in any spelling. */
const MAX_NAMES = 2_000;
/** The most clients whose zones are kept: the most recent ones. */
const MAX_CLIENTS = 50_000;
const MAX_NAME = 64;

/** The zone of each name; an empty text for no zone. Looking one up takes Node.js 0.1 ms. */
const names = new LruMap<string>(MAX_NAMES);

/** The time zone of this name, as it stands in keys; undefined for anything else. */
export function zoneNamed(name: unknown): string | undefined {
  if (typeof name !== 'string' || name.length > MAX_NAME) return undefined;
  let zone = names.get(name);
  if (zone === undefined) {
    zone = timeZoneNamed(name) ?? '';
    names.set(ownText(name), zone);
  }
  return zone === '' ? undefined : zone;
}

/** Finds the time zones of requests, for policies with a `timeZone` function. */
export class TimeZones<Context extends object> {
  /** The zone that was found last, by the tag of the identity; undefined until one was found. */
  private clients: LruMap<string> | undefined;

  constructor(
    private readonly functions: Pick<UserFunctions, 'call' | 'failed'>,
    private readonly requestOf: RequestOf<Context>,
  ) {}

  /**
   * The policy in the time zone of the request. If the function fails or names no zone, the request counts in UTC.
   *
   * @param tag the identity that the policy counts
   */
  async policyFor(policy: BoundPolicy<Context>, tag: string, context: Context): Promise<BoundPolicy<Context>> {
    const { timeZone } = policy;
    if (timeZone === undefined) return policy;
    const failed = Symbol('failed');
    const warning = `timeZone of policy '${policy.name}' failed, the request counts in ${DEFAULT_ZONE}`;
    const given = await this.functions.call<unknown>(
      'timeZone',
      warning,
      () => timeZone(this.requestOf(context), context),
      () => failed,
      timeZone,
      context,
    );
    if (given === failed) return inTimeZone(policy, DEFAULT_ZONE);
    const zone = zoneNamed(given);
    if (zone === undefined) {
      const problem = `it must return a time zone of the IANA database, such as 'Europe/Paris', got ${shown(given)}`;
      this.functions.failed('timeZone', warning, new TypeError(problem));
      return inTimeZone(policy, DEFAULT_ZONE);
    }
    this.clients ??= new LruMap(MAX_CLIENTS);
    this.clients.set(ownText(tag), zone);
    return inTimeZone(policy, zone);
  }

  /** The zone in which a client was counted last here. `known` is false where it is the default. */
  look(tag: string): { readonly zone: string; readonly known: boolean } {
    const zone = this.clients?.get(tag);
    return { zone: zone ?? DEFAULT_ZONE, known: zone !== undefined };
  }
}
