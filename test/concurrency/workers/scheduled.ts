import { NestFactory } from '@nestjs/core';
import { limitedFetch, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { withoutDeadline } from '../support/without-deadline.js';
import { answerCalls } from '../../../demo/processes/answer-calls.js';

interface Given {
  readonly redis: string;
  readonly partner: string;
  readonly policies: Record<string, Policy>;
}

interface Calls {
  readonly policy: string;
  readonly count: number;
}

interface Sent {
  readonly pod: string;
  /** The instants at which the store admitted the calls, in whole microseconds of its clock: a delayed one at its slot. */
  readonly admitted: Float64Array;
  /** The calls in the order in which they ran. */
  readonly order: readonly number[];
  readonly statuses: readonly number[];
  readonly questions: number;
}

const CONNECTIONS = 20;

let limiter: RateLimiter;
let partner: string;
let admitted: number[] = [];

export const procedures = {
  async open({ redis, policies, ...given }: Given): Promise<void> {
    ({ partner } = given);
    const module = RateLimitModule.forRoot({
      redis,
      policies,
      onStoreFailure: 'closed',
      onDecision: ({ decision: { allowed, decidedAtMs, delayMs } }) => {
        if (allowed) admitted.push(Math.round((decidedAtMs + delayMs) * 1000));
      },
    });
    const app = await NestFactory.createApplicationContext(module, { logger: ['error', 'fatal'] });
    limiter = await withoutDeadline(app.get(RateLimiter));
    // The first request of a process loads its HTTP client, and opens a connection: this takes longer than others.
    const first = Array.from({ length: CONNECTIONS }, async () => (await fetch(partner)).text());
    await Promise.all(first);
  },

  /** Schedules all calls at once, and sends each to the partner. */
  async send({ policy, count }: Calls): Promise<Sent> {
    admitted = [];
    const order: number[] = [];
    const before = limiter.stats().requests;
    const calls = Array.from({ length: count }, async (_, i) => {
      const partnersFetch = limitedFetch(limiter, policy, {
        maxWait: 30_000,
        fetch: async (input) => {
          order.push(i);
          return fetch(input);
        },
      });
      const response = await partnersFetch(`${partner}?pod=${process.pid}&call=${i}`);
      await response.text();
      return response.status;
    });
    const statuses = await Promise.all(calls);
    return {
      pod: String(process.pid),
      admitted: Float64Array.from(admitted),
      order,
      statuses,
      questions: limiter.stats().requests - before,
    };
  },
};

answerCalls(procedures);
