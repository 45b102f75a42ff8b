import { Cluster } from 'ioredis';
import { type Decision, LimiterUnavailableError, type Policy, type RateLimiter } from 'nestjs-floodgate';
import type { LoadedRedisStore } from '../../../libs/floodgate/src/stores/redis/loaded-redis-store.js';
import { untilByNode } from '../../support/faults/until-by-node.js';
import { answerCalls } from '../../../demo/processes/answer-calls.js';
import { openLimiter } from '../support/open-limiter.js';

interface Load {
  readonly policy: Policy;
  readonly inFlight: number;
  readonly forMs: number;
  /** The load continues until it has this many answers. */
  readonly atLeast?: number;
}

interface Counts {
  readonly admitted: number;
  readonly refused: number;
  readonly failed: number;
}

const ANYBODY = { kind: 'user', value: 'anybody' };

let limiter: RateLimiter;

export const procedures = {
  /** Resolves once every master is asked for all its slots: a probe that comes later would stand among the calls that tests count. */
  async connect(masters: { host: string; port: number }[]): Promise<void> {
    const opened = await openLimiter(new Cluster(masters, { lazyConnect: true }));
    ({ limiter } = opened);
    await untilByNode(opened.store as LoadedRedisStore, masters);
  },

  /** Sends so many requests in one turn of the event loop. */
  async together({ policy, count }: { policy: Policy; count: number }): Promise<Counts> {
    return countsOf(await Promise.allSettled(Array.from({ length: count }, () => limiter.consume(policy, ANYBODY))));
  },

  /** Keeps requests under way. A failure does not end the load. */
  async load({ policy, inFlight, forMs, atLeast = 0 }: Load): Promise<Counts> {
    const answers: PromiseSettledResult<Decision>[] = [];
    const until = performance.now() + forMs;
    const keepAsking = async (): Promise<void> => {
      while (performance.now() < until || answers.length < atLeast) {
        answers.push(...(await Promise.allSettled([limiter.consume(policy, ANYBODY)])));
      }
    };
    await Promise.all(Array.from({ length: inFlight }, keepAsking));
    return countsOf(answers);
  },
};

function countsOf(answers: readonly PromiseSettledResult<Decision>[]): Counts {
  const counts = { admitted: 0, refused: 0, failed: 0 };
  for (const answer of answers) {
    if (answer.status === 'fulfilled') counts[answer.value.allowed ? 'admitted' : 'refused']++;
    else if (answer.reason instanceof LimiterUnavailableError) counts.failed++;
    else throw answer.reason;
  }
  return counts;
}

answerCalls(procedures);
