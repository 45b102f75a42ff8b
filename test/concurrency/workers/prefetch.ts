import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { RateLimitRuntime } from '../../support/runtime.js';
import { serve } from '../../support/processes/serve.js';

interface Pod {
  readonly redis: string;
  /** How fast this process's clock runs; 1 is right. */
  readonly clock: number;
  readonly deadlineMs: number;
}

interface Load {
  readonly policies: readonly Policy[];
  /** Requests a second. */
  readonly rate: number;
  /** Wall clock, in milliseconds. */
  readonly from: number;
  readonly until: number;
  /** Where each decision is written as soon as it is known, its instant and 1 if it admitted: this process may be killed. */
  readonly file: string;
}

export interface Outcome {
  readonly requests: number;
  readonly byPrefetch: number;
  readonly failed: number;
}

const CATCH_UP_MS = 50;
const USER = { kind: 'user', value: 'ada' };
let limiter: RateLimiter;

/** The wall clock in microseconds, less the monotonic clock, which is one for all processes of a machine. */
function wallOffset(): number {
  const before = Date.now();
  while (Date.now() === before);
  return Date.now() * 1000 - Number(process.hrtime.bigint()) / 1000;
}

/** Milliseconds between two requests of a Poisson process. */
function gap(rate: number): number {
  return (-Math.log(1 - Math.random()) * 1000) / rate;
}

export const procedures = {
  async connect({ redis, clock, deadlineMs }: Pod): Promise<void> {
    const now = performance.now.bind(performance);
    Object.assign(performance, { now: () => now() * clock });
    const module = RateLimitModule.forRoot({ redis, onStoreFailure: 'closed', deadline: deadlineMs });
    const context: INestApplicationContext = await NestFactory.createApplicationContext(module, { logger: ['fatal'] });
    // Its polls of overrides would stand among the commands that the test counts.
    context.get(RateLimitRuntime).overrides['calls']['watch'].stop();
    limiter = context.get(RateLimiter);
  },

  /** Asks at random instants, whether earlier requests were answered or not. */
  async load({ policies, rate, from, until, file }: Load): Promise<Outcome> {
    const counts = { requests: 0, byPrefetch: 0, failed: 0 };
    const descriptor = openSync(file, 'a');
    let decided: number[] = [];
    const write = (): void => {
      if (decided.length > 0) writeSync(descriptor, Float64Array.from(decided));
      decided = [];
    };
    const writer = setInterval(write, 10);
    const offset = wallOffset();
    const instant = (): number => Number(process.hrtime.bigint()) / 1000 + offset;
    const ask = async (): Promise<void> => {
      counts.requests++;
      const at = instant(); // a prefetch decides within this call
      try {
        const decision = await limiter.consume(policies, USER);
        const isPrefetched = decision.policies[0]?.estimated === true;
        if (decision.decidedBy === 'prefetch') counts.byPrefetch++;
        const byStore = decision.allowed && !isPrefetched;
        decided.push(byStore ? Math.round(decision.decidedAtMs * 1000) : at, Number(decision.allowed));
      } catch {
        counts.failed++;
      }
    };
    const asked: Promise<void>[] = [];
    await sleep(Math.max(0, from - Date.now()));
    // A process that a busy machine has kept waiting catches up a little: requests of one turn share a call.
    for (let next = Date.now(); next < until; next = Math.max(next, Date.now() - CATCH_UP_MS) + gap(rate)) {
      if (next > Date.now()) await sleep(next - Date.now());
      asked.push(ask());
    }
    await Promise.all(asked);
    clearInterval(writer);
    write();
    closeSync(descriptor);
    return counts;
  },
};

serve(procedures);
