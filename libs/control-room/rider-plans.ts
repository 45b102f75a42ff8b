import { Injectable } from '@nestjs/common';
import { RoomApplication } from './room-application.js';

const KEPT_MS = 5000;

/**
 * The plans of the page's riders from their accounts. The limiter learns a plan with a rider's first request to this process, and the
 * page shows before it what that request would find.
 */
@Injectable()
export class RiderPlans {
  private readonly plans = new Map<string, string | null>();
  private readonly askedAt = new Map<string, number>();

  constructor(private readonly application: RoomApplication) {}

  /** Undefined: not known yet. Does not wait, as a slow database must not delay the page. */
  of(rider: string): string | null | undefined {
    const now = performance.now();
    if (now - (this.askedAt.get(rider) ?? -Infinity) > KEPT_MS) {
      this.askedAt.set(rider, now);
      void this.application.planOf(rider).then(
        (plan) => this.plans.set(rider, plan ?? null),
        () => this.plans.delete(rider), // the application logs it
      );
    }
    return this.plans.get(rider);
  }
}
