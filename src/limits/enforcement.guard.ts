import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { RateLimitGuard } from 'nestjs-floodgate';
import { Enforcement } from './enforcement.js';
import { RouteTraffic } from './route-traffic.js';

/** The library's guard, with a switch. */
@Injectable()
export class EnforcementGuard extends RateLimitGuard {
  // Properties, so that the constructor stays the library's own.
  @Inject(Enforcement) private readonly enforcement: Enforcement;
  @Inject(RouteTraffic) private readonly traffic: RouteTraffic;

  protected override shouldSkip(context: ExecutionContext): boolean {
    if (this.enforcement.on) return false;
    this.traffic.unlimited(context);
    return true;
  }
}
