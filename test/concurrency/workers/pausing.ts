import { Cluster } from 'ioredis';
import { NestFactory } from '@nestjs/core';
import { CallWaitError, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { answerCalls } from '../../../demo/processes/answer-calls.js';
import { withoutDeadline } from '../support/without-deadline.js';

export interface Given {
  /** The address of a server, or the nodes of a Cluster. */
  readonly redis: string | readonly { readonly host: string; readonly port: number }[];
  readonly policies: Record<string, Policy>;
}

let limiter: RateLimiter;

export const procedures = {
  async open({ redis: at, policies }: Given): Promise<void> {
    const redis = typeof at === 'string' ? at : new Cluster([...at], { lazyConnect: true });
    const module = RateLimitModule.forRoot({ redis, policies, onStoreFailure: 'closed', denialCache: 0 });
    limiter = await withoutDeadline(
      (await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false })).get(RateLimiter),
    );
  },

  pause: async ({ policy, ms }: { policy: string; ms: number }): Promise<boolean> =>
    limiter.pause(policy, null, { for: ms }),

  /** Until a pause ends, by the store's clock. */
  async pausedMs(policy: string): Promise<number> {
    const { at, policies } = await limiter.explain(policy, null);
    return Date.parse(policies[0]!.pausedUntil!) - Date.parse(at);
  },

  reset: async (policy: string): Promise<unknown> => limiter.reset(policy, null),

  /** How many of the calls run at once. */
  async run({ policy, count }: { policy: string; count: number }): Promise<number> {
    const calls = Array.from({ length: count }, async () => limiter.schedule(policy, () => 'ran', { maxWait: 0 }));
    const ends = await Promise.allSettled(calls);
    const failed = ends.find((end) => end.status === 'rejected' && !(end.reason instanceof CallWaitError));
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    return ends.filter(({ status }) => status === 'fulfilled').length;
  },
};

answerCalls(procedures);
