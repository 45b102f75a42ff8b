import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Decision, type Policy, type RateLimiter, LimiterUnavailableError } from 'nestjs-floodgate';
import { Recorder } from '../support/history.js';
import { LASTING, takenKey, USERS } from '../support/lasting-policies.js';
import { openLimiter } from '../support/open-limiter.js';
import { serve } from '../../support/processes/serve.js';
import { type Random, randomOf } from '../../support/random.js';

interface Hammer {
  readonly policy: Policy;
  readonly forMs: number;
  /** Requests that wait for an answer at any time. */
  readonly inFlight: number;
}

interface Count extends Omit<Hammer, 'policy'> {
  /** And until it has had as many answers. */
  readonly atLeast?: number;
  readonly policies: readonly Policy[];
  readonly users: 'one' | 'each its own';
}

interface Counts {
  readonly admitted: number;
  readonly refused: number;
  readonly failed: number;
  /** How long each answer took, in milliseconds. */
  readonly answers: Float64Array;
}

interface Scramble {
  readonly seed: number;
  readonly turns: number;
}

interface Scrambled {
  readonly admitted: number;
  readonly refused: number;
  /** The cost of those that were admitted, by `takenKey`. */
  readonly taken: Readonly<Record<string, number>>;
}

const MAX_TOGETHER = 60;
const MAX_COST = 4;

let limiter: RateLimiter;

export const procedures = {
  async connect(redis: string): Promise<void> {
    ({ limiter } = await openLimiter(redis));
  },

  /** As a process whose clock is ahead, by which it decides. */
  async connectByOwnClock({ redis, aheadMs }: { redis: string; aheadMs: number }): Promise<void> {
    const now = Date.now.bind(Date);
    Date.now = () => now() + aheadMs;
    ({ limiter } = await openLimiter(redis, 'app'));
  },

  /** Asks for one user as often as it can; a failure fails. */
  async hammer(given: Hammer): Promise<Float64Array> {
    return (await procedures.hammerTimed(given)).history;
  },

  /** The same, and how long each answer took, in milliseconds. */
  async hammerTimed({ policy, forMs, inFlight }: Hammer): Promise<{ history: Float64Array; answers: Float64Array }> {
    const recorder = new Recorder();
    const answers: number[] = [];
    const until = performance.now() + forMs;
    await inParallel(inFlight, async () => {
      for (let since = performance.now(); since < until; since = performance.now()) {
        recorder.add(await limiter.consume(policy, USERS[0]!));
        answers.push(performance.now() - since);
      }
    });
    return { history: recorder.take(), answers: Float64Array.from(answers) };
  },

  /** As `hammer`, with policies that are charged together, in either order, and failures counted. */
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

  /** Turns of random requests: several lasting policies in any order, a user, a cost. */
  async scramble({ seed, turns }: Scramble): Promise<Scrambled> {
    const random = randomOf(seed);
    const taken: Record<string, number> = {};
    const counts = { admitted: 0, refused: 0 };
    const ask = async (): Promise<void> => {
      const policies = someOf(LASTING, random);
      const user = USERS[random(USERS.length)]!;
      const cost = 1 + random(MAX_COST);
      const decision = await limiter.consume(policies, user, { cost });
      if (decision.allowed !== decision.policies.every(({ allowed }) => allowed)) throw new Error('Not all agree');
      counts[decision.allowed ? 'admitted' : 'refused']++;
      if (!decision.allowed) return;
      for (const policy of policies) taken[takenKey(policy, user)] = (taken[takenKey(policy, user)] ?? 0) + cost;
    };
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

/** At least one of them, in any order. */
function someOf<T>(all: readonly T[], random: Random): T[] {
  const rest = [...all];
  return Array.from({ length: 1 + random(all.length) }, () => rest.splice(random(rest.length), 1)[0]!);
}

serve(procedures);
