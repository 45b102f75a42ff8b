import { setTimeout as delay } from 'node:timers/promises';
import { type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Policy, RateLimiter, RateLimitModule, RateLimitOverrides } from 'nestjs-floodgate';
import { answerCalls } from '../../../demo/processes/answer-calls.js';

const API: Policy = { algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const IDENTITY = { kind: 'user', value: 'ada' };
const LIMIT_MS = 10_000;

let app: INestApplicationContext;

async function limit(): Promise<number> {
  return (await app.get(RateLimiter).peek('api', IDENTITY)).policies[0]!.limit;
}

const procedures = {
  boot: async (redis: string): Promise<void> => {
    const module = RateLimitModule.forRoot({ redis, policies: { api: API }, guard: false, deadline: 1_000 });
    app = await NestFactory.createApplicationContext({ module: class App {}, imports: [module] }, { logger: false });
  },

  /** Sets the capacity, where `sets`, and tells when this process obeys: milliseconds since 1970. */
  obey: async ({ capacity, sets }: { readonly capacity: number; readonly sets: boolean }) => {
    if (sets) await app.get(RateLimitOverrides).set({ policy: 'api', identity: IDENTITY }, { capacity });
    const setAt = Date.now();
    while ((await limit()) !== capacity) {
      if (Date.now() - setAt > LIMIT_MS) throw new Error(`the capacity is not ${capacity} after ${LIMIT_MS} ms`);
      await delay(5);
    }
    return Date.now();
  },
};

export type OverriddenPod = typeof procedures;

answerCalls(procedures);
