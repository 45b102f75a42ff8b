import { Injectable } from '@nestjs/common';
import { RiderAccounts } from '../accounts/rider-accounts.js';
import type { RoomRider } from './riders.js';

const KEPT_MS = 5000;

/**
 * The plans of the page's riders from their accounts. The limiter learns a plan with a rider's first request to this process, and the
 * page shows before it what that request would find.
 */
@Injectable()
export class RiderPlans {
  private readonly plans = new Map<RoomRider, string | null>();
  private readonly askedAt = new Map<RoomRider, number>();

  constructor(private readonly accounts: RiderAccounts) {}

  /** Undefined: not known yet. Does not wait, as a slow database must not delay the page. */
  of(rider: RoomRider): string | null | undefined {
    const now = performance.now();
    if (now - (this.askedAt.get(rider) ?? -Infinity) > KEPT_MS) {
      this.askedAt.set(rider, now);
      void this.accounts.find(rider).then(
        (account) => this.plans.set(rider, account?.plan ?? null),
        () => this.plans.delete(rider), // the database logs it
      );
    }
    return this.plans.get(rider);
  }
}
