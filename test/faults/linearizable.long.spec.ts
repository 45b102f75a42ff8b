import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { differing, inOrder, MARK, misplaced, type Operation, type Trace } from '../concurrency/support/operations.js';
import { openLimiter } from '../concurrency/support/open-limiter.js';
import type { procedures } from '../concurrency/workers/recorder.js';
import { record } from '../support/faults/record.js';
import { TcpProxy } from '../support/faults/tcp-proxy.js';
import { Processes } from '../support/processes/processes.js';
import { SEED } from '../support/property-runs.js';
import { type Random, randomOf } from '../support/random.js';
import { RedisServer } from '../support/redis-server.js';

const PROCESSES = 4;
const IN_FLIGHT = 6;
const FOR_MS = 3000;
const DEADLINE_MS = 60;

let server: RedisServer;
let admin: Redis;
let proxies: TcpProxy[];
let processes: Processes<typeof procedures>;

beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
  proxies = await Promise.all(Array.from({ length: PROCESSES - 1 }, () => TcpProxy.start(server.port)));
  processes = await Processes.start(new URL('../concurrency/workers/recorder.ts', import.meta.url), PROCESSES);
}, 120_000);

afterAll(async () => {
  await processes?.stop();
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  admin.disconnect();
  await server.stop();
});

/** Mostly without faults: a process that Redis never answers shows nothing. */
async function disturb(random: Random, ended: () => boolean): Promise<void> {
  while (!ended()) {
    await delay(20 + random(60));
    const proxy = proxies[random(proxies.length)]!;
    const faults: (() => unknown)[] = [
      () => proxy.cut({ containing: 'evalsha', times: 1 + random(3) }),
      () => proxy.dropReplies(),
      () => proxy.blackHole(),
      () => proxy.reset(),
      () => proxy.delay(1 + random(20)),
      () => admin.script('FLUSH'),
      () => hang(10 + random(100)),
    ];
    await faults[random(faults.length)]!();
    await delay(random(40));
    await proxy.pass();
  }
}

async function hang(ms: number): Promise<void> {
  server.pause();
  await delay(ms);
  server.resume();
}

/** The traces of each operation in Redis: the instants at which its requests were admitted. */
async function traces(operations: readonly Operation[]): Promise<Map<Operation, Trace>> {
  await using opened = await openLimiter(server.url);
  const found = new Map<Operation, Trace>();
  const look = async (operation: Operation): Promise<void> => {
    const mark = await opened.limiter.peek(MARK, { kind: 'user', value: operation.user });
    const { limit, remaining, resetAfterMs } = mark.policies[0]!;
    const at = Math.round((mark.decidedAtMs + resetAfterMs) * 1000) - 3_600_000_000;
    found.set(operation, { admitted: limit - remaining, at });
  };
  for (let i = 0; i < operations.length; i += 500) await Promise.all(operations.slice(i, i + 500).map(look));
  return found;
}

interface Seen {
  readonly operations: readonly Operation[];
  readonly traceOf: (operation: Operation) => Trace;
  readonly answered: readonly Operation[];
  readonly unheard: readonly Operation[];
}

/** Runs all processes beside the faults, and looks up what Redis did. */
async function round(index: number): Promise<Seen> {
  // The last process has a network without faults.
  await processes.all('connect', (i) => ({ redis: proxies[i]?.url ?? server.url, deadlineMs: DEADLINE_MS }));
  let ended = false;
  const disturbing = disturb(randomOf(SEED + index), () => ended);
  const histories = await processes.all('run', (i) => ({
    name: `pod-${i}-${index}`,
    seed: SEED + PROCESSES * index + i,
    forMs: FOR_MS,
    inFlight: IN_FLIGHT,
  }));
  ended = true;
  await disturbing;
  const operations = histories.flat();
  const found = await traces(operations);
  return {
    operations,
    traceOf: (operation) => found.get(operation)!,
    answered: operations.filter(({ told }) => told.length > 0),
    unheard: operations.filter(({ told }) => told.length === 0),
  };
}

/** Whether the faults had an effect, and the limits, too. */
function isTelling({ traceOf, answered, unheard }: Seen): boolean {
  const executed = unheard.filter((operation) => traceOf(operation).admitted > 0);
  const refused = answered.filter(({ told }) =>
    told.some(({ policies }) => policies.some(({ allowed }) => allowed === 0)),
  );
  return answered.length > 200 && refused.length > 20 && executed.length > 0;
}

it('whatever the network does, one order of all operations explains every answer: the order of the program', async () => {
  let index = 0;
  let seen = await round(index);
  while (!isTelling(seen)) {
    await admin.flushall();
    seen = await round(++index);
  }
  const { operations, traceOf, answered, unheard } = seen;
  // No request was charged twice, no rejected request at all, and every admitted request once.
  const wrong = answered.filter((operation) => {
    const admitted = operation.told.filter(({ policies }) => policies.every(({ allowed }) => allowed === 1)).length;
    return admitted !== traceOf(operation).admitted;
  });
  const twice = unheard.filter((operation) => traceOf(operation).admitted > operation.times);
  const order = inOrder(operations, traceOf);
  const difference = differing(order, traceOf);
  const answers = answered.map(({ invokedAt, answeredAt }) => (answeredAt - invokedAt) / 1000);
  record('all of it at once, 4 processes, replayed', {
    answers,
    doubles: wrong.length + twice.length,
    overAdmissions: Number(difference !== undefined),
  });
  expect([...wrong, ...twice].slice(0, 3)).toEqual([]);
  expect(misplaced(order)).toBeUndefined();
  expect(difference).toBeUndefined();
}, 120_000);
