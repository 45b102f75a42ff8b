import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { perSecond } from '../../lab/textbook/arithmetic.js';
import { mostWithin, worstExcess } from '../../lab/textbook/bounds.js';
import { Processes } from '../support/processes.js';
import { timeOf, useRedis } from '../support/redis-fixture.js';
import type { procedures } from './workers/scheduled.js';

const PODS = 4;
const SECOND = 1_000_000;
/** By how much the system may adjust the clock of Redis during a run, in microseconds. */
const ADJUSTED = 5_000;
const POLICIES = {
  log: { algorithm: 'sliding-window-log', limit: 100, window: 500, by: 'global' },
  bucket: { algorithm: 'token-bucket', capacity: 20, refill: 200, by: 'global' },
  even: { algorithm: 'leaky-bucket', capacity: 20, drain: 200, by: 'global' },
  paused: { algorithm: 'token-bucket', capacity: 10, refill: 100, by: 'global' },
} as const satisfies Record<string, Policy>;

const redis = useRedis();
let pods: Processes<typeof procedures>;
let partner: Server;
/** The requests that the partner has seen, with the process that sent each, and the call's number there. */
let seen: { at: number; pod: string; call: string }[] = [];
/** The request that the partner rejects, by its number; -1: none. */
let rejects = -1;
const RETRY_AFTER_S = 3;

beforeAll(async () => {
  partner = createServer((request, response) => {
    const at = performance.now();
    const query = new URL(request.url!, 'http://partner').searchParams;
    const number = seen.push({ at, pod: query.get('pod')!, call: query.get('call')! });
    if (number === rejects) response.writeHead(429, { 'Retry-After': String(RETRY_AFTER_S) });
    response.end('{}');
  });
  await new Promise<void>((resolve) => partner.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(partner.address() as AddressInfo).port}/`;
  pods = await Processes.start<typeof procedures>(new URL('workers/scheduled.ts', import.meta.url), PODS);
  await pods.all('open', () => ({ redis: redis.server.url, partner: url, policies: POLICIES }));
});

afterAll(async () => {
  await pods?.stop();
  partner.closeAllConnections();
  partner.close();
});

/** What a run of calls came to, in whole microseconds of Redis's clock. */
interface Run {
  readonly admissions: readonly { readonly at: number }[];
  /** When the partner saw each call. */
  readonly arrivals: readonly { readonly at: number }[];
  /** The longest time between the admission of a call and its arrival. */
  readonly longest: number;
}

/** All pods send their calls at once, and each arrives once. */
async function sendAll(policy: keyof typeof POLICIES, count: number): Promise<Run> {
  seen = [];
  const offset = await clockOffset();
  const sent = await pods.all('send', () => ({ policy, count }));
  for (const { order } of sent) {
    expect(order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i)); // each once
    // Calls whose first questions travel in neighbouring batches may overtake each other.
    for (const [place, call] of order.entries()) expect(Math.abs(place - call)).toBeLessThanOrEqual(32);
  }
  const questions = sent.reduce((sum, pod) => sum + pod.questions, 0);
  // A call asks when it comes and when it is its turn. Of those that wait, only the first one of each pod asks in between, once
  // for each call of another pod that is admitted. A herd would ask a hundred thousand times.
  expect(questions).toBeLessThan((2 + PODS) * PODS * count);
  const arrived = new Map(seen.map(({ at, pod, call }) => [`${pod} ${call}`, Math.ceil(at * 1000 + offset)]));
  expect([seen.length, arrived.size]).toEqual([PODS * count, PODS * count]);
  // A pod runs its calls in the order in which they are admitted.
  const times = sent.flatMap(({ pod, order, admitted }) =>
    order.map((call, i) => arrived.get(`${pod} ${call}`)! - admitted[i]!),
  );
  const shortest = Math.min(...times);
  expect(shortest).toBeGreaterThan(-ADJUSTED);
  return {
    admissions: sent.flatMap(({ admitted }) => Array.from(admitted, (at) => ({ at }))),
    arrivals: Array.from(arrived.values(), (at) => ({ at })),
    longest: Math.max(...times) - Math.min(0, shortest),
  };
}

/** What to add to the microseconds of this process's clock for those of Redis; at most a round trip too much. */
async function clockOffset(): Promise<number> {
  let [offset, shortest] = [0, Infinity];
  for (let i = 0; i < 20; i++) {
    const before = performance.now();
    const time = await timeOf(redis.client);
    const took = performance.now() - before;
    if (took < shortest) [offset, shortest] = [time - before * 1000, took];
  }
  return offset;
}

it('processes send no more than 100 calls in any half second, and all of them in the end', async () => {
  const { admissions } = await sendAll('log', 60);
  expect(admissions).toHaveLength(PODS * 60);
  expect(mostWithin(admissions, SECOND / 2)).toBeLessThanOrEqual(100);
});

it('processes send no more than capacity + refill x t in any interval, and the partner sees no more, but for those on their way', async () => {
  const { admissions, arrivals, longest } = await sendAll('bucket', 60);
  expect(worstExcess(admissions, 20, perSecond(200n))).toBeLessThanOrEqual(0);
  // Calls that arrive within t were admitted within t + longest.
  const meanwhile = Math.ceil((200 * longest) / SECOND);
  expect(worstExcess(arrivals, 20 + meanwhile, perSecond(200n))).toBeLessThanOrEqual(0);
});

it('processes send a call every 5 ms, each at its slot', async () => {
  const { admissions } = await sendAll('even', 40);
  const slots = admissions.map(({ at }) => at).toSorted((a, b) => a - b);
  expect(slots.filter((slot, i) => i > 0 && slot - slots[i - 1]! < SECOND / 200 - 1)).toEqual([]);
});

it('a 429 of the partner pauses all processes, until Retry-After is over', async () => {
  rejects = 30;
  seen = [];
  const sent = await pods.all('send', () => ({ policy: 'paused', count: 50 }));
  const statuses = sent.flatMap((pod) => pod.statuses);
  expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  expect(statuses.filter((status) => status === 200)).toHaveLength(PODS * 50 - 1);
  const { at } = seen[rejects - 1]!;
  // Calls that were on their way, and those of processes that learn of it later, came long before.
  const last = seen.filter((call) => call.at > at + (RETRY_AFTER_S - 1) * 1000);
  const early = last.filter((call) => call.at < at + RETRY_AFTER_S * 1000 - 50);
  expect(early).toEqual([]);
  // Without the pause, all calls would be over by now.
  expect(last.length).toBeGreaterThan(0);
});
