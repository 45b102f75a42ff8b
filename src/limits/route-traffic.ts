import type { ExecutionContext } from '@nestjs/common';
import type { DecisionEvent } from 'nestjs-floodgate';

/** Requests of a route since the start. */
export interface RouteCounts {
  /** Those that the limiter let through, and those that it was not asked about. */
  readonly passed: number;
  /** 429, and 503 where the store could not decide. */
  readonly refused: number;
}

const NOTHING: RouteCounts = { passed: 0, refused: 0 };

/** Counts what became of the requests of limited routes: as many as the code has. */
export class RouteTraffic {
  private readonly counts = new Map<string, { passed: number; refused: number }>();

  /** For `onDecision`. */
  readonly decided = ({ route, decision }: DecisionEvent): void => {
    if (route !== undefined) this.count(route, decision.allowed);
  };

  /** A request went on without being limited. */
  unlimited(context: ExecutionContext): void {
    this.count(routeName(context.getClass(), context.getHandler().name), true);
  }

  of(route: string): RouteCounts {
    return this.counts.get(route) ?? NOTHING;
  }

  private count(route: string, passed: boolean): void {
    let counts = this.counts.get(route);
    if (counts === undefined) this.counts.set(route, (counts = { ...NOTHING }));
    counts[passed ? 'passed' : 'refused']++;
  }
}

/** As decisions name it. */
export function routeName(controller: { readonly name: string }, method: string): string {
  return `${controller.name}.${method}`;
}
