import { type ExecutionContext, Injectable, Module } from '@nestjs/common';
import type { DecisionEvent } from 'nestjs-floodgate';

/** Requests of a route since the start of the process. */
export interface RouteCounts {
  /** Requests that the limiter allowed or did not decide. */
  readonly passed: number;
  /** Requests that the limiter answered: 429, or 503 when the store could not decide. */
  readonly rejected: number;
}

const NOTHING: RouteCounts = { passed: 0, rejected: 0 };

/** Counts the requests of limited routes. Its memory is bounded by the number of routes. */
@Injectable()
export class RouteTraffic {
  private readonly counts = new Map<string, { passed: number; rejected: number }>();

  /** Counts a decision. The module's option `onDecision` calls it. */
  readonly decided = ({ route, decision }: DecisionEvent): void => {
    if (route !== undefined) this.count(route, decision.allowed);
  };

  /** Counts a request that no limit was applied to. */
  unlimited(context: ExecutionContext): void {
    this.count(routeName(context.getClass(), context.getHandler().name), true);
  }

  of(route: string): RouteCounts {
    return this.counts.get(route) ?? NOTHING;
  }

  private count(route: string, passed: boolean): void {
    let counts = this.counts.get(route);
    if (counts === undefined) this.counts.set(route, (counts = { ...NOTHING }));
    counts[passed ? 'passed' : 'rejected']++;
  }
}

/** The name of a route in decisions. */
export function routeName(controller: { readonly name: string }, handler: string): string {
  return `${controller.name}.${handler}`;
}

/** A module of its own, since the options of `RateLimitModule` need the counts. */
@Module({ providers: [RouteTraffic], exports: [RouteTraffic] })
export class RouteTrafficModule {}
