import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Type } from '@nestjs/common';
import { BullModule, getQueueToken } from '@nestjs/bullmq';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Queue } from 'bullmq';
import { RateLimitModule } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { RedisServer } from '../../support/redis-server.js';
import { Recipe } from '../../support/recipe.js';

const LIMIT = 10;
const WINDOW_MS = 500;
const JOBS = 60;

let redis: RedisServer;
let recipe: Recipe;
let partner: Server;
/** When the partner got its calls. */
const calls: number[] = [];
/** How many calls the partner rejects. */
let rejections = 1;

beforeAll(async () => {
  redis = await RedisServer.start();
  // Jobs that wait for longer go back into the queue.
  recipe = Recipe.of('docs/recipe-partner-queue.md', 'invoices.processor.ts', [["maxWait: '5s'", 'maxWait: 100']]);
  partner = createServer((_, response) => {
    calls.push(performance.now());
    if (rejections-- > 0) response.writeHead(429, { 'Retry-After': '2' });
    response.end();
  }).listen(0, '127.0.0.1');
  await once(partner, 'listening');
});

afterAll(async () => {
  partner?.close();
  recipe?.[Symbol.dispose]();
  await redis?.stop();
});

describe('a queue of BullMQ that calls a partner', () => {
  it('sends the jobs as the policy says, none of them twice, and counts no attempt for a job that goes back', async () => {
    const { InvoicesProcessor } = await recipe.import<{ InvoicesProcessor: Type }>(redis.url);
    const policy = { algorithm: 'sliding-window-log', limit: LIMIT, window: WINDOW_MS, by: 'global' } as const;
    const module = {
      module: class Jobs {},
      imports: [
        BullModule.forRoot({ connection: { url: redis.url } }),
        BullModule.registerQueue({ name: 'invoices' }),
        RateLimitModule.forRoot({ redis: redis.url, deadline: '10s', policies: { partner: policy } }),
      ],
      providers: [InvoicesProcessor],
    };
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    try {
      const queue = app.get<Queue>(getQueueToken('invoices'));
      const url = `http://127.0.0.1:${(partner.address() as AddressInfo).port}/invoices`;
      const job = { name: 'send', data: { url }, opts: { attempts: 2, backoff: 10 } };
      await queue.addBulk(Array.from({ length: JOBS }, () => job));
      await until('all jobs are done', 40_000, async () => (await queue.getCompletedCount()) === JOBS);
      // The call that the partner rejected is the only one that was sent again.
      expect(calls).toHaveLength(JOBS + 1);
      const done = await queue.getCompleted(0, JOBS);
      const attempts = done.map(({ attemptsMade }) => attemptsMade).toSorted((one, other) => one - other);
      expect(attempts).toEqual([...Array<number>(JOBS - 1).fill(1), 2]);
      // The queue rests as a whole: each time, only the jobs that its workers have taken begin in vain.
      const begun = done.reduce((sum, { attemptsStarted }) => sum + attemptsStarted, 0);
      expect(begun).toBeGreaterThan(JOBS + 1);
      expect(begun).toBeLessThan(4 * JOBS);
      // Calls that are on their way when the 429 comes may arrive after it. Then the partner has peace for its 2 seconds.
      expect(calls.filter((at) => at < calls[0]! + 1_900).length).toBeLessThanOrEqual(LIMIT);
    } finally {
      await app.close();
    }
  });
});
