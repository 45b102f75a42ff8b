import { Injectable, Module } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type RateLimitRequest, userIdentity } from 'nestjs-floodgate';
import { AccountsModule } from '../accounts/accounts.module.js';
import { RiderAccounts } from '../accounts/rider-accounts.js';
import { isId } from '../http/validation.js';

const MAX_RIDERS = 50_000;
/** A rider moves to another zone at most this much later. */
const KEPT_MS = 5 * 60_000;
/** Of riders without an account. */
const NO_ACCOUNT = 'UTC';

const user = userIdentity();

/**
 * The time zones of riders' accounts, for policies. One query serves all requests of a rider. An old answer is used while a new
 * one is on its way, and as long as there is none: where the database is away, only riders who are new to this process count in
 * UTC.
 */
@Injectable()
export class RiderZones {
  private readonly zones: LRUCache<string, string>;

  constructor(accounts: RiderAccounts) {
    this.zones = new LRUCache({
      max: MAX_RIDERS,
      ttl: KEPT_MS,
      allowStale: true,
      allowStaleOnFetchRejection: true,
      noDeleteOnFetchRejection: true,
      fetchMethod: async (riderId: string) => (await accounts.find(riderId))?.timeZone ?? NO_ACCOUNT,
    });
  }

  /** The zone of a request's rider, as the gateway names them: never one that a client could choose. */
  readonly of = async (request: RateLimitRequest): Promise<string> => {
    const riderId = user.resolve(request);
    if (!isId(riderId)) return NO_ACCOUNT;
    const zone = await this.zones.fetch(riderId);
    if (zone === undefined) throw new Error('the database does not say the time zone of the rider');
    return zone;
  };
}

/** A module of its own, since the options of `RateLimitModule` need the zones. */
@Module({ imports: [AccountsModule], providers: [RiderZones], exports: [RiderZones] })
export class RiderZonesModule {}
