import { setTimeout as delay } from 'node:timers/promises';
import {
  type Decision,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { type HttpApp, start } from '../http-app.js';

export const CAPACITY = 1000;
export const POLICY: Policy = { name: 'rides', algorithm: 'token-bucket', capacity: CAPACITY, refill: '1/h' };
export const ADA = { kind: 'user', value: 'ada' };

/** Promised are 500 from the moment at which Redis answers; to start it, and a busy machine, take their own time. */
export const RECOVERY_MS = 1500;

/** One process of an application, with a Redis that the test has in its hands. */
export class Pod implements AsyncDisposable {
  private constructor(
    readonly app: HttpApp,
    readonly limiter: RateLimiter,
  ) {}

  static async start(options: RateLimitModuleOptions): Promise<Pod> {
    const app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
    return new Pod(app, app.app.get(RateLimiter));
  }

  ask(user = ADA.value): Promise<Decision> {
    return this.limiter.consume(POLICY, { kind: 'user', value: user });
  }

  /** Asks and takes the time. */
  async timed(user?: string): Promise<{ decision: Decision; ms: number }> {
    const since = performance.now();
    const decision = await this.ask(user);
    return { decision, ms: performance.now() - since };
  }

  /** Milliseconds until Redis decides again. */
  async recovered(withinMs = RECOVERY_MS): Promise<number> {
    const since = performance.now();
    while ((await this.limiter.peek(POLICY, ADA)).decidedBy !== 'store') {
      if (performance.now() - since > withinMs) throw new Error(`Not recovered:\n${this.app.logs.text}`);
      await delay(2);
    }
    return performance.now() - since;
  }

  /** What Redis has left of the policy. */
  async leftInRedis(): Promise<number> {
    const { decidedBy, policies } = await this.limiter.peek(POLICY, ADA);
    if (decidedBy !== 'store') throw new Error('Redis does not decide');
    return policies[0]!.remaining;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.close();
  }
}
