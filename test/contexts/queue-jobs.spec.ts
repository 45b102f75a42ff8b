import { BullModule, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, jest } from '@jest/globals';
import { DelayedError, type Job, Queue } from 'bullmq';
import { RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { CapturedLogs } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

jest.setTimeout(60_000);

const JOBS = 30;
const CAPACITY = 5;
const PER_SECOND = 20;

/** The processor of docs/contexts.md. It also notes what it does. */
@Processor('mail', { concurrency: 10 })
class Mail extends WorkerHost {
  readonly sent: { readonly id: string; readonly at: number }[] = [];
  readonly failed: string[] = [];
  delays = 0;

  constructor(private readonly limiter: RateLimiter) {
    super();
  }

  override async process(job: Job<{ tenant: string }>, token?: string): Promise<void> {
    const { allowed, retryAfterMs } = await this.limiter.consume('mail', { kind: 'tenant', value: job.data.tenant });
    if (!allowed) {
      this.delays++;
      await job.moveToDelayed(Date.now() + retryAfterMs!, token);
      throw new DelayedError();
    }
    this.sent.push({ id: job.id!, at: performance.now() });
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job): void {
    this.failed.push(job.id!);
  }
}

describe('a processor of BullMQ that asks the limiter', () => {
  const redis = useRedis(['--maxmemory-policy', 'noeviction']);

  it('does each job once, never faster than the policy, and fails none', async () => {
    const connection = { host: '127.0.0.1', port: Number(new URL(redis.server.url).port) };
    class Root {}
    const app = await NestFactory.createApplicationContext(
      {
        module: Root,
        imports: [
          BullModule.forRoot({ connection }),
          BullModule.registerQueue({ name: 'mail' }),
          RateLimitModule.forRoot({
            redis: redis.server.url,
            policies: { mail: { algorithm: 'token-bucket', capacity: CAPACITY, refill: `${PER_SECOND}/s` } },
          }),
        ],
        providers: [Mail],
      },
      { logger: new CapturedLogs() },
    );
    const queue = new Queue('mail', { connection });
    try {
      const mail = app.get(Mail);
      const begun = performance.now();
      await queue.addBulk(
        Array.from({ length: JOBS }, () => ({ name: 'send', data: { tenant: 'acme' }, opts: { attempts: 1 } })),
      );
      await until('all jobs are done', 30_000, () => mail.sent.length >= JOBS);
      await until('the queue is empty', 10_000, async () => (await queue.getActiveCount()) === 0);
      expect(new Set(mail.sent.map(({ id }) => id)).size).toBe(JOBS);
      expect(mail.sent).toHaveLength(JOBS);
      expect(mail.failed).toEqual([]);
      expect(mail.delays).toBeGreaterThan(0);
      // The first capacity's worth may pass at once, the others as the bucket refills.
      expect(mail.sent.at(-1)!.at - begun).toBeGreaterThan(((JOBS - CAPACITY) / PER_SECOND) * 1000);
    } finally {
      await queue.close();
      await app.close();
    }
  });
});
