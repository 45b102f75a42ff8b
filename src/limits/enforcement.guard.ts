import { type ExecutionContext, Injectable } from '@nestjs/common';
import { RateLimitGuard } from 'nestjs-floodgate';
import { Enforcement } from './enforcement.js';
import { RouteTraffic } from './route-traffic.js';

/** The library's guard, with a switch. */
@Injectable()
export class EnforcementGuard extends RateLimitGuard {
  constructor(
    private readonly enforcement: Enforcement,
    private readonly traffic: RouteTraffic,
  ) {
    super();
  }

  protected override shouldSkip(context: ExecutionContext): boolean {
    if (this.enforcement.on) return false;
    this.traffic.unlimited(context);
    return true;
  }
}
