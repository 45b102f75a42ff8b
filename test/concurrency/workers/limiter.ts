import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Decision, type Identity, type Policy, type RateLimiter, LimiterUnavailableError } from 'nestjs-floodgate';
import { algorithmOf } from '../../support/algorithm-of.js';
import { Recorder } from '../support/history.js';
import { LASTING, takenKey, USERS } from '../support/lasting-policies.js';
import { openLimiter } from '../support/open-limiter.js';
import { serve } from '../../support/processes/serve.js';
import { type Random, randomOf } from '../../support/random.js';

interface Hammer {
  readonly policy: Policy;
  readonly forMs: number;
  /** The number of requests under way at any time. */
  readonly inFlight: number;
  /** The class of the requests, of a policy with priorities. */
  readonly priority?: string;
  /** How long each of the requests under way pauses before the next one; default not at all. */
  readonly pauseMs?: number;
}

interface Count extends Omit<Hammer, 'policy' | 'priority' | 'pauseMs'> {
  /** The run continues until it has this many answers. */
  readonly atLeast?: number;
  readonly policies: readonly Policy[];
  readonly users: 'one' | 'each its own';
}

interface Counts {
  readonly admitted: number;
  readonly refused: number;
  readonly failed: number;
  /** The latency of each answer in milliseconds. */
  readonly answers: Float64Array;
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
  readonly admitted: number;
  readonly refused: number;
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

  /** Makes this process decide by its own clock, which is ahead. */
  async connectByOwnClock({ redis, aheadMs }: { redis: string; aheadMs: number }): Promise<void> {
    const now = Date.now.bind(Date);
    Date.now = () => now() + aheadMs;
    ({ limiter } = await openLimiter(redis, 'app'));
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
  async hammer(given: Hammer): Promise<Float64Array> {
    return (await procedures.hammerTimed(given)).history;
  },

  /** Sends requests like `hammer`, and measures the latency of each answer in milliseconds. */
  async hammerTimed({
    policy,
    forMs,
    inFlight,
    priority,
    pauseMs,
  }: Hammer): Promise<{ history: Float64Array; answers: Float64Array }> {
    const recorder = new Recorder();
    const answers: number[] = [];
    const options = priority === undefined ? undefined : { priority };
    const until = performance.now() + forMs;
    await inParallel(inFlight, async () => {
      for (let since = performance.now(); since < until; since = performance.now()) {
        recorder.add(await limiter.consume(policy, USERS[0]!, options));
        answers.push(performance.now() - since);
        if (pauseMs !== undefined) await sleep(pauseMs);
      }
    });
    return { history: recorder.take(), answers: Float64Array.from(answers) };
  },

  /** Takes leases of one user as fast as it can, and holds each for some milliseconds. Returns when each was held, in milliseconds. */
  async hold({ policy, forMs, inFlight, priority }: Hammer): Promise<Float64Array> {
    const held: number[] = [];
    const until = performance.now() + forMs;
    await inParallel(inFlight, async (index) => {
      for (let i = 0; performance.now() < until; i++) {
        const lease = await limiter.acquire(policy, USERS[0]!, { priority: priority! });
        if (!lease.allowed) {
          await sleep(1);
          continue;
        }
        await sleep((i * 7 + index * 3) % 20);
        held.push(lease.decision.decidedAtMs, Date.now());
        lease.release();
      }
    });
    return Float64Array.from(held);
  },

  /** Sends requests like `hammer`, with two policies in either order. Counts failures instead of rejecting. */
  async count({ policies, users, forMs, atLeast = 0, inFlight }: Count): Promise<Counts> {
    const orders = [policies, policies.toReversed()];
    const counts = { admitted: 0, refused: 0, failed: 0 };
    const answers: number[] = [];
    const until = performance.now() + forMs;
    await inParallel(inFlight, async (index) => {
      while (performance.now() < until || answers.length < atLeast) {
        const user = users === 'one' ? USERS[0]! : { kind: 'user', value: randomUUID() };
        const since = performance.now();
        const outcome = await outcomeOf(limiter.consume(orders[index % 2]!, user));
        answers.push(performance.now() - since);
        counts[outcome]++;
        if (outcome === 'failed') await sleep(5);
      }
    });
    return { ...counts, answers: Float64Array.from(answers) };
  },

  /** Random requests, many in each turn: several lasting policies in any order, a user, a cost. */
  async scramble({ seed, turns }: Scramble): Promise<Scrambled> {
    const random = randomOf(seed);
    const taken: Record<string, number> = {};
    const counts = { admitted: 0, refused: 0 };
    const ask = async (): Promise<void> =>
      askFor(someOf(LASTING, random), USERS[random(USERS.length)]!, 1 + random(MAX_COST));
    const askFor = async (policies: readonly Policy[], user: Identity, cost: number): Promise<void> => {
      const decision = await limiter.consume(policies, user, { cost });
      if (decision.allowed !== decision.policies.every(({ allowed }) => allowed))
        throw new Error('The decision contradicts its policies');
      counts[decision.allowed ? 'admitted' : 'refused']++;
      if (!decision.allowed) return;
      for (const policy of policies) taken[takenKey(policy, user)] = (taken[takenKey(policy, user)] ?? 0) + cost;
    };
    // One that is admitted, if no other process was faster, and one that the smallest policy alone rejects.
    await Promise.all([askFor(LASTING, USERS[0]!, 1), askFor(LASTING, USERS[0]!, SMALLEST + 1)]);
    for (let turn = 0; turn < turns; turn++) await inParallel(1 + random(MAX_TOGETHER), ask);
    return { ...counts, taken };
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

serve(procedures);
