import { setTimeout as sleep } from 'node:timers/promises';
import { type Decision, type Identity, type Policy, type RateLimiter, LimiterUnavailableError } from 'nestjs-floodgate';
import { algorithmOf } from '../../support/algorithm-of.js';
import { Recorder } from '../support/history.js';
import { LASTING, takenKey, USERS } from '../support/lasting-policies.js';
import { openLimiter } from '../support/open-limiter.js';
import { answerCalls } from '../../../demo/processes/answer-calls.js';
import { type Random, randomOf } from '../../support/random.js';

interface Hammer {
  readonly policy: Policy;
  readonly forMs: number;
  /** The number of requests under way at any time. */
  readonly inFlight: number;
}

interface Count {
  readonly policies: readonly Policy[];
  readonly forMs: number;
  readonly inFlight: number;
}

interface Counts {
  readonly admitted: number;
  readonly refused: number;
  readonly failed: number;
}

/** Requests of some clients in turn, by one of the module's policies. */
interface Spend {
  readonly policy: string;
  readonly clients: readonly string[];
  readonly requests: number;
  readonly inFlight: number;
}

/** Which policy took or rejected a request of a client, and when. */
interface Spent {
  readonly client: string;
  readonly policy: string;
  readonly allowed: boolean;
  readonly atMs: number;
}

interface Scramble {
  readonly seed: number;
  readonly turns: number;
}

interface Scrambled {
  /** The cost of the admitted requests, by `takenKey`. */
  readonly taken: Readonly<Record<string, number>>;
}

const MAX_TOGETHER = 60;
const MAX_COST = 4;
const SMALLEST = Math.min(...LASTING.map((policy) => algorithmOf(policy).limit));

let limiter: RateLimiter;

export const procedures = {
  async connect(redis: string): Promise<void> {
    ({ limiter } = await openLimiter(redis));
  },

  async connectWith({ redis, policies }: { redis: string; policies: Record<string, Policy> }): Promise<void> {
    ({ limiter } = await openLimiter(redis, 'redis', policies));
  },

  /** Sends a number of requests, many at once. */
  async spend({ policy, clients, requests, inFlight }: Spend): Promise<Spent[]> {
    const spent: Spent[] = [];
    let next = 0;
    await inParallel(inFlight, async () => {
      while (next < requests) {
        const client = clients[next++ % clients.length]!;
        const decision = await limiter.consume(policy, { kind: 'tenant', value: client });
        const [said] = decision.policies;
        spent.push({ client, policy: said!.policy, allowed: decision.allowed, atMs: decision.decidedAtMs });
      }
    });
    return spent;
  },

  /** Sends requests of one user as fast as it can. A failed decision rejects. */
  async hammer({ policy, forMs, inFlight }: Hammer): Promise<Float64Array> {
    const recorder = new Recorder();
    const until = performance.now() + forMs;
    await inParallel(inFlight, async () => {
      while (performance.now() < until) recorder.add(await limiter.consume(policy, USERS[0]!));
    });
    return recorder.take();
  },

  /** Sends requests like `hammer`, with two policies in either order. Counts failures instead of rejecting. */
  async count({ policies, forMs, inFlight }: Count): Promise<Counts> {
    const orders = [policies, policies.toReversed()];
    const counts = { admitted: 0, refused: 0, failed: 0 };
    const until = performance.now() + forMs;
    await inParallel(inFlight, async (index) => {
      while (performance.now() < until) {
        const outcome = await outcomeOf(limiter.consume(orders[index % 2]!, USERS[0]!));
        counts[outcome]++;
        if (outcome === 'failed') await sleep(5);
      }
    });
    return counts;
  },

  /** Random requests, many in each turn: several lasting policies in any order, a user, a cost. */
  async scramble({ seed, turns }: Scramble): Promise<Scrambled> {
    const random = randomOf(seed);
    const taken: Record<string, number> = {};
    const ask = async (): Promise<void> =>
      askFor(someOf(LASTING, random), USERS[random(USERS.length)]!, 1 + random(MAX_COST));
    const askFor = async (policies: readonly Policy[], user: Identity, cost: number): Promise<void> => {
      const decision = await limiter.consume(policies, user, { cost });
      if (decision.allowed !== decision.policies.every(({ allowed }) => allowed))
        throw new Error('The decision contradicts its policies');
      if (!decision.allowed) return;
      for (const policy of policies) taken[takenKey(policy, user)] = (taken[takenKey(policy, user)] ?? 0) + cost;
    };
    // One that is admitted, if no other process was faster, and one that the smallest policy alone rejects.
    await Promise.all([askFor(LASTING, USERS[0]!, 1), askFor(LASTING, USERS[0]!, SMALLEST + 1)]);
    for (let turn = 0; turn < turns; turn++) await inParallel(1 + random(MAX_TOGETHER), ask);
    return { taken };
  },
};

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

async function outcomeOf(answer: Promise<Decision>): Promise<'admitted' | 'refused' | 'failed'> {
  try {
    return (await answer).allowed ? 'admitted' : 'refused';
  } catch (error) {
    if (error instanceof LimiterUnavailableError) return 'failed';
    throw error;
  }
}

/** A random subset in random order, with at least one element. */
function someOf<T>(all: readonly T[], random: Random): T[] {
  const rest = [...all];
  return Array.from({ length: 1 + random(all.length) }, () => rest.splice(random(rest.length), 1)[0]!);
}

answerCalls(procedures);
