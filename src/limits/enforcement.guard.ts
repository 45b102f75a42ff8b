import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { RateLimitGuard, RateLimitRuntime } from 'nestjs-floodgate';
import { Enforcement } from './enforcement.js';
import { RouteTraffic } from './route-traffic.js';

/** The library's guard, with a switch. */
@Injectable()
export class EnforcementGuard extends RateLimitGuard {
  constructor(
    @Inject(RateLimitRuntime) runtime: RateLimitRuntime,
    @Inject(HttpAdapterHost) adapterHost: HttpAdapterHost,
    private readonly enforcement: Enforcement,
    private readonly traffic: RouteTraffic,
  ) {
    super(runtime, adapterHost);
  }

  protected override shouldSkip(context: ExecutionContext): boolean {
    if (this.enforcement.on) return false;
    this.traffic.unlimited(context);
    return true;
  }
}
