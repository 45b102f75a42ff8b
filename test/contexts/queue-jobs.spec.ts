import { BullModule, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { DelayedError, type Job, Queue } from 'bullmq';
import { type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { ScriptedServer } from '../../libs/client/test-support/scripted-server.js';
import { until } from '../support/faults/until.js';
import { CapturedLogs } from '../support/http-app.js';
import { Recipe } from '../support/recipe.js';
import { useRedis } from '../support/redis-fixture.js';

const JOBS = 30;
const PER_SECOND = 20;

/** The processor of docs/contexts.md. It also notes what it does. */
@Processor('mail', { concurrency: 10 })
class Mail extends WorkerHost {
  readonly sent: { readonly id: string; readonly at: number }[] = [];
  readonly failed: string[] = [];
  runs = 0;

  constructor(private readonly limiter: RateLimiter) {
    super();
  }

  override async process(job: Job<{ tenant: string; hasSlot?: boolean }>, token?: string): Promise<void> {
    this.runs++;
    const { tenant, hasSlot = false } = job.data;
    if (!hasSlot) {
      const slot = await this.limiter.consume('mail', { kind: 'tenant', value: tenant });
      const waitMs = slot.allowed ? slot.delayMs : slot.retryAfterMs!;
      if (waitMs > 0) {
        await job.updateData({ tenant, hasSlot: slot.allowed });
        await job.moveToDelayed(Date.now() + waitMs, token);
        throw new DelayedError();
      }
    }
    await job.updateData({ tenant });
    this.sent.push({ id: job.id!, at: performance.now() });
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job): void {
    this.failed.push(job.id!);
  }
}

describe('a processor of BullMQ that asks the limiter', () => {
  const redis = useRedis(['--maxmemory-policy', 'noeviction']);

  /** Runs a processor of a queue, and asks the queue for what a test wants. */
  async function running<T extends WorkerHost>(
    name: string,
    Worker: Type<T>,
    policy: Policy,
    test: (queue: Queue, worker: T) => Promise<void>,
  ): Promise<void> {
    const connection = { host: '127.0.0.1', port: Number(new URL(redis.server.url).port) };
    class Root {}
    const app = await NestFactory.createApplicationContext(
      {
        module: Root,
        imports: [
          BullModule.forRoot({ connection }),
          BullModule.registerQueue({ name }),
          RateLimitModule.forRoot({ redis: redis.server.url, policies: { [policy.name!]: policy }, deadline: '10s' }),
        ],
        providers: [Worker],
      },
      { logger: new CapturedLogs() },
    );
    const queue = new Queue(name, { connection });
    try {
      await test(queue, app.get(Worker));
    } finally {
      await queue.close();
      await app.close();
    }
  }

  it('does each job once, never faster than the policy, in two runs at most, and fails none', async () => {
    const policy = { name: 'mail', algorithm: 'leaky-bucket', capacity: 100, drain: `${PER_SECOND}/s` } as const;
    await running('mail', Mail, policy, async (queue, mail) => {
      const begun = performance.now();
      await queue.addBulk(
        Array.from({ length: JOBS }, () => ({ name: 'send', data: { tenant: 'acme' }, opts: { attempts: 1 } })),
      );
      await until('all jobs are done', 30_000, () => mail.sent.length >= JOBS);
      await until('the queue is empty', 10_000, async () => (await queue.getActiveCount()) === 0);
      expect(new Set(mail.sent.map(({ id }) => id)).size).toBe(JOBS);
      expect(mail.sent).toHaveLength(JOBS);
      expect(mail.failed).toEqual([]);
      // The first one passes at once, each other one at its slot.
      expect(mail.sent.at(-1)!.at - begun).toBeGreaterThan(((JOBS - 1) / PER_SECOND) * 1000 - 10);
      expect(mail.runs).toBeLessThan(2 * JOBS);
    });
  });

  it("waits for the partner's turn, gives long waits back to the queue, and pauses after a 429", async () => {
    await using partner = await ScriptedServer.start([{}, {}, { status: 429, headers: { 'Retry-After': '1' } }]);
    const { InvoicesProcessor } = await Recipe.of('docs/recipe-partner-queue.md', 'invoices.processor.ts').import<{
      InvoicesProcessor: Type<WorkerHost>;
    }>(redis.server.url);
    const policy = { name: 'partner', algorithm: 'sliding-window-log', limit: 4, window: '1s', by: 'global' } as const;
    await running('invoices', InvoicesProcessor, policy, async (queue) => {
      const { url } = partner;
      const begun = performance.now();
      await queue.addBulk(
        Array.from({ length: 16 }, () => ({ name: 'send', data: { url }, opts: { attempts: 3, backoff: 10 } })),
      );
      await until('all jobs are done', 30_000, async () => (await queue.getCompletedCount()) === 16);
      expect(await queue.getFailedCount()).toBe(0);
      expect(partner.seen).toHaveLength(17); // the rejected one was sent again
      // A second has four calls: the 17th comes four seconds after the first. On the way to the partner they may come closer.
      expect(performance.now() - begun).toBeGreaterThan(3_900);
    });
  });
});
