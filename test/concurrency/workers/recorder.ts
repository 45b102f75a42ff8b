import { setTimeout as sleep } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimiter, RateLimitModule, LimiterUnavailableError } from 'nestjs-floodgate';
import { serve } from '../../support/processes/serve.js';
import { type Random, randomOf } from '../../support/random.js';
import { COSTS, KINDS, MAX_TIMES, type Operation, policiesOf, TARGETS, toldBy } from '../support/operations.js';

interface Connect {
  readonly redis: string;
  readonly deadlineMs: number;
}

interface Run {
  /** Different for each process. */
  readonly name: string;
  readonly seed: number;
  readonly forMs: number;
  readonly inFlight: number;
}

const QUEUE = TARGETS.findIndex(({ algorithm }) => algorithm === 'leaky-bucket');
const MAX_PAUSE_MS = 4;

let context: INestApplicationContext;

export const procedures = {
  async connect({ redis, deadlineMs }: Connect): Promise<void> {
    // A decision without the store rejects. The denial cache is off, so that Redis decides every request at its own instant.
    const module = RateLimitModule.forRoot({ redis, deadline: deadlineMs, onStoreFailure: 'closed', denialCache: 0 });
    context = await NestFactory.createApplicationContext(module, { logger: ['error', 'fatal'] });
  },

  /** Runs random operations, several at a time, and returns them with their answers. */
  async run({ name, seed, forMs, inFlight }: Run): Promise<Operation[]> {
    const random = randomOf(seed);
    const operations: Operation[] = [];
    const until = performance.now() + forMs;
    let users = 0;
    const client = async (): Promise<void> => {
      while (performance.now() < until) {
        operations.push(await operate(`${name}-${users++}`, random));
        await sleep(random(MAX_PAUSE_MS));
      }
    };
    await Promise.all(Array.from({ length: inFlight }, client));
    await context.close();
    return operations;
  },
};

async function operate(user: string, random: Random): Promise<Operation> {
  const limiter = context.get(RateLimiter);
  const targets = someTargets(random);
  const policies = policiesOf(targets);
  const times = random(4) === 0 ? 1 + random(MAX_TIMES) : 1;
  const invokedAt = now();
  const asked = Array.from({ length: times }, () => limiter.consume(policies, { kind: 'user', value: user }));
  try {
    const decisions = await Promise.all(asked);
    return { user, targets, times, invokedAt, answeredAt: now(), told: decisions.map(toldBy) };
  } catch (error) {
    await Promise.allSettled(asked);
    if (!(error instanceof LimiterUnavailableError)) throw error;
    return { user, targets, times, invokedAt, answeredAt: Infinity, told: [] };
  }
}

/** One or two targets of different kinds. A request may wait in one queue only. */
function someTargets(random: Random): number[] {
  const kinds = [random(KINDS)];
  const other = random(KINDS);
  if (random(3) === 0 && other !== kinds[0]) kinds.push(other);
  return kinds.map((kind) => kind + KINDS * (kind === QUEUE ? 0 : random(COSTS.length)));
}

/** Microseconds since the machine started. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1000;
}

serve(procedures);
