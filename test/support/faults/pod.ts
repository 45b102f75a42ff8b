import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Decision,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { type HttpApp, start } from '../http-app.js';
import { type Outcome, record } from './record.js';
import { until } from './until.js';
import { measured } from '../turning-time.js';

export const CAPACITY = 1000;
/** Nothing refills during a test: every admitted request comes out of the first `CAPACITY`. */
export const POLICY: Policy = { name: 'rides', algorithm: 'token-bucket', capacity: CAPACITY, refill: '1/h' };
export const ADA = { kind: 'user', value: 'ada' };

/** For a busy machine: the table of `npm run test:faults` has the figures. */
const RECOVERY_MS = 10_000;
const DRAINED_MS = 10_000;

export interface Answer {
  readonly decision: Decision;
  readonly ms: number;
}

/** The bound on an outage's admissions: the limits granted by Redis (each loss of its data adds one), and one by the process. */
export interface Bound {
  /** Default 1. */
  readonly limits?: number;
}

/** An application in this process, on a Redis that the test controls. */
export class Pod implements AsyncDisposable {
  /** The admitted requests of each user, by decider. */
  private readonly admitted = new Map<string, Record<Decision['decidedBy'], number>>();
  /** The users of a single request. Later pods on the same Redis use other names. */
  private readonly strangers = new Set<string>();

  private constructor(
    readonly app: HttpApp,
    readonly limiter: RateLimiter,
  ) {}

  static async start(options: RateLimitModuleOptions): Promise<Pod> {
    const app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
    return new Pod(app, app.app.get(RateLimiter));
  }

  async ask(user = ADA.value): Promise<Decision> {
    const decision = await this.limiter.consume(POLICY, { kind: 'user', value: user });
    if (decision.allowed) this.admittedOf(user)[decision.decidedBy]++;
    return decision;
  }

  /** Sends a request and measures its latency, in time of an event loop that turns. */
  async timed(user?: string): Promise<Answer> {
    const { result, ms } = await measured(() => this.ask(user));
    return { decision: result, ms };
  }

  /**
   * Sends a request of a new user and measures its latency. A double charge shows afterwards, because the user sends no other
   * request.
   */
  timedOnce(): Promise<Answer> {
    const stranger = randomUUID();
    this.strangers.add(stranger);
    return this.timed(stranger);
  }

  /** The number of a user's requests that Redis admitted, as far as answers arrived. */
  admittedByRedis(user = ADA.value): number {
    return this.admittedOf(user).store;
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

  /** The policy's `remaining` in Redis. */
  leftInRedis(user = ADA.value): Promise<number> {
    return until('Redis tells what it has left', RECOVERY_MS, async () => {
      const { decidedBy, policies } = await this.limiter.peek(POLICY, { kind: 'user', value: user });
      return decidedBy === 'store' && policies[0]!.remaining;
    });
  }

  /** Sends requests until Redis rejects one. */
  async drain(user = ADA.value): Promise<void> {
    // With pauses: a local decision takes no turn of the event loop, in which Redis's answers could arrive.
    await until('Redis refuses', DRAINED_MS, async () => {
      const decisions = await Promise.all(Array.from({ length: CAPACITY + 1 }, () => this.ask(user)));
      return decisions.some(({ decidedBy, allowed }) => decidedBy === 'store' && !allowed);
    });
  }

  /**
   * Checks the promises that hold after every fault, once Redis decides again. No single request was charged twice, and no
   * admission exceeds the bound, even when other requests take the rest that Redis has left. Records the row.
   */
  async conclude(fault: string, seen: Pick<Outcome, 'answers' | 'recoveryMs'>, bound: Bound = {}): Promise<void> {
    const doubles = await this.chargedTwice();
    for (const user of this.regulars()) await this.drain(user);
    const overAdmissions = this.admittedBeyond(bound);
    record(fault, { ...seen, doubles, overAdmissions });
    deepStrictEqual({ doubles, overAdmissions }, { doubles: 0, overAdmissions: 0 });
    deepStrictEqual(this.app.logs.of('error'), []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.close();
  }

  private admittedOf(user: string): Record<Decision['decidedBy'], number> {
    let admitted = this.admitted.get(user);
    if (admitted === undefined)
      this.admitted.set(user, (admitted = { store: 0, prefetch: 0, local: 0, open: 0, override: 0 }));
    return admitted;
  }

  private regulars(): string[] {
    return [...this.admitted.keys()].filter((user) => !this.strangers.has(user));
  }

  private async chargedTwice(): Promise<number> {
    const left = await Promise.all([...this.strangers].map((stranger) => this.leftInRedis(stranger)));
    return left.filter((one) => one < CAPACITY - 1).length;
  }

  private admittedBeyond({ limits = 1 }: Bound): number {
    let beyond = 0;
    for (const { store, local } of this.admitted.values()) {
      beyond += Math.max(0, store - limits * CAPACITY) + Math.max(0, local - CAPACITY);
    }
    return beyond;
  }
}
