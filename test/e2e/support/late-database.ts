import { type PlanOptions, RateLimiter, type RateLimitStats } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import type { HttpApp } from '../../support/http-app.js';
import { type HeaderRequest, userOf } from './planned-routes.js';

const LIMIT_MS = 20_000;

type Answer = Awaited<ReturnType<PlanOptions['resolve']>>;

interface Query {
  readonly answer: (plan: Answer) => void;
  readonly fail: (error: Error) => void;
}

/** Where plans are looked up: a query is answered when the test says so. */
export class LateDatabase {
  /** The clients that were asked for, in order. */
  readonly asked: string[] = [];
  private readonly queries = new Map<string, Query>();

  readonly resolve = (request: HeaderRequest): Promise<Answer> => {
    const user = userOf(request);
    this.asked.push(user);
    return new Promise((answer, fail) => this.queries.set(user, { answer, fail }));
  };

  answer(user: string, plan: Answer): void {
    this.queries.get(user)!.answer(plan);
  }

  fail(user: string): void {
    this.queries.get(user)!.fail(new Error('no database'));
  }
}

export function statsOf({ app }: HttpApp): RateLimitStats {
  return app.get(RateLimiter).stats();
}

/** Waits until so many requests wait for a plan. */
export async function untilWaiting(http: HttpApp, requests: number): Promise<void> {
  await until(`${requests} requests wait`, LIMIT_MS, () => statsOf(http).waiting === requests);
}
