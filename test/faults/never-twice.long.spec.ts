import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { Processes } from '../support/processes/processes.js';
import { record } from '../support/faults/record.js';
import { useRedis } from '../support/redis-fixture.js';
import { commandsDuring } from '../concurrency/support/command-stats.js';
import { takenFrom, USERS } from '../concurrency/support/lasting-policies.js';
import { openLimiter } from '../concurrency/support/open-limiter.js';
import type { procedures } from '../concurrency/workers/limiter.js';

const PROCESSES = 4;
const IN_FLIGHT = 6;
const FOR_MS = 1500;
/** Decisions of each process at least. */
const AT_LEAST = 1000;
/** The capacity of `SOME`. */
const CAPACITY = 3000;

const ALL: Policy = { name: 'all', algorithm: 'fixed-window', limit: 1_000_000_000, window: '36500d' };
const SOME: Policy = { name: 'some', algorithm: 'token-bucket', capacity: CAPACITY, refill: '1/d' };

let processes: Processes<typeof procedures>;

// Hooks run in this order: the server stops after its clients.
afterAll(async () => {
  await processes?.stop();
});

const redis = useRedis();

beforeAll(async () => {
  processes = await Processes.start(new URL('../concurrency/workers/limiter.ts', import.meta.url), PROCESSES);
  await processes.all('connect', () => redis.server.url);
}, 60_000);

interface Outcome {
  readonly admitted: number;
  readonly refused: number;
  readonly failed: number;
  /** Calls of `disturb`. */
  readonly disturbed: number;
  /** Milliseconds of each answer. */
  readonly answers: readonly number[];
}

/** The decisions of all processes together while `disturb` runs again and again, at first before any decision. */
async function countDuring(
  policies: readonly Policy[],
  users: 'one' | 'each its own',
  everyMs: number,
  disturb: () => Promise<unknown>,
): Promise<Outcome> {
  await disturb();
  let disturbed = 1;
  const request = { policies, forMs: FOR_MS, atLeast: AT_LEAST, inFlight: IN_FLIGHT, users };
  const counting = processes.all('count', () => request);
  const ended = counting.then(() => true);
  while (!(await Promise.race([ended, sleep(everyMs, false)]))) {
    await disturb();
    disturbed++;
  }
  const counts = await counting;
  const total = (field: 'admitted' | 'refused' | 'failed'): number =>
    counts.reduce((sum, count) => sum + count[field], 0);
  const answers = counts.flatMap((count) => [...count.answers]);
  return { admitted: total('admitted'), refused: total('refused'), failed: total('failed'), disturbed, answers };
}

it.each([
  { row: 'no limit', policies: [ALL], admits: undefined },
  { row: 'a limit', policies: [ALL, SOME], admits: CAPACITY },
])(
  'charges every request once while the scripts are flushed every few milliseconds: $row',
  async ({ row, policies, admits }) => {
    let outcome!: Outcome;
    const stats = await commandsDuring(redis.client, async () => {
      outcome = await countDuring(policies, 'one', 3, () => redis.client.script('FLUSH'));
    });
    await using opened = await openLimiter(redis.server.url);
    const taken = await Promise.all(policies.map((policy) => takenFrom(opened.limiter, policy, USERS[0]!)));
    record(`SCRIPT FLUSH every 3 ms, ${row}`, {
      answers: outcome.answers,
      doubles: Math.max(...taken) - outcome.admitted,
      overAdmissions: Math.max(0, outcome.admitted - (admits ?? Infinity)),
    });
    expect(outcome.failed).toBe(0);
    expect(outcome.admitted).toBe(admits ?? outcome.admitted + outcome.refused);
    expect(taken).toEqual(policies.map(() => outcome.admitted));
    // Each EVAL follows an EVALSHA without a script, the first one in any case. A flush affects at most the calls in flight.
    const [evalsha, evaluated] = [stats('evalsha'), stats('eval')];
    expect(evaluated).toEqual({ calls: evalsha.failed, failed: 0 });
    expect(evaluated.calls).toBeGreaterThan(0);
    expect(evaluated.calls).toBeLessThanOrEqual(outcome.disturbed * PROCESSES * IN_FLIGHT);
  },
  60_000,
);

it('makes no charge again whose answer is lost, while connections are lost again and again', async () => {
  const kill = (): Promise<unknown> => redis.client.call('CLIENT', 'KILL', 'TYPE', 'normal');
  const outcome = await countDuring([ALL], 'each its own', 60, kill);
  // All keys have the same policy, window and cost: a key that was charged twice holds another state.
  const keys = await redis.client.keys('rl:{user:*'); // not the keys of probes
  const states = await redis.client.mget(keys);
  const others = states.filter((state) => state !== states[0]).length;
  record('connections killed every 60 ms', {
    answers: outcome.answers,
    doubles: Math.min(others, states.length - others),
    overAdmissions: Math.max(0, outcome.admitted - keys.length),
  });
  expect(new Set(states).size).toBe(1);
  // Of the failed requests some were never sent, and some lost the answer to a charge.
  expect(keys.length).toBeGreaterThanOrEqual(outcome.admitted);
  expect(keys.length).toBeLessThanOrEqual(outcome.admitted + outcome.failed);
}, 60_000);
