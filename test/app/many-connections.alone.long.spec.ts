import { expect, it, jest } from '@jest/globals';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';
import type { CrowdProcedures } from './support/crowd-of-connections.js';
import { INSPECT, InspectedHeap } from './support/inspected-heap.js';
import { ServiceProcess } from './support/service-process.js';

jest.setTimeout(180_000); // it is real time, and the machine may be busy

/** `CONNECTIONS=10000` needs `ulimit -n` above that. */
const CONNECTIONS = Number(process.env['CONNECTIONS'] ?? 1000);
const VERBOSE = process.env['CONNECTIONS'] !== undefined;
const EACH = 2;
const ROUNDS = 8;
const RIDERS = CONNECTIONS / 10;
/** The route's policy: requests of a rider in any minute. */
const LIMIT = 5;
/** Four rounds that keep half a kilobyte of each request grow more. */
const GROWTH_MB = 4;

async function decidedLocally(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^rate_limiter_fallback_decisions_total\{mode="local"\} (\d+)$/m.exec(text)![1]);
}

it(`answers every request of ${CONNECTIONS} concurrent connections, and admits no more than the limits`, async () => {
  await using redis = await RedisServer.start();
  await using service = await ServiceProcess.start('main', {
    REDIS_URL: redis.url,
    CONTROL_ROOM: 'off',
    NODE_OPTIONS: INSPECT,
  });
  using heap = await InspectedHeap.of(service);
  await using crowd = await Processes.start<CrowdProcedures>(
    new URL('./support/crowd-of-connections.ts', import.meta.url),
    1,
  );
  expect(await crowd.all('open', () => ({ port: service.port, count: CONNECTIONS }))).toEqual([CONNECTIONS]);
  const heapMb: number[] = [];
  let localBefore = 0;
  let decidedByRedis = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const [outcome] = await crowd.all('storm', () => ({ each: EACH, riders: RIDERS, prefix: `round-${round}` }));
    const local = await decidedLocally(service.url);
    heapMb.push((await heap.collected()) / 2 ** 20);
    const { statuses, ...times } = outcome!;
    if (VERBOSE) console.log(JSON.stringify({ statuses, local: local - localBefore, times, heapMb }));
    expect(Object.keys(statuses).toSorted()).toEqual(['200', '429', 'lost']);
    expect(statuses['lost']).toBe(0);
    expect(statuses['200']! + statuses['429']!).toBe(EACH * CONNECTIONS);
    // If the machine is so busy that Redis misses the deadline, the process decides, and each such decision may admit one more.
    expect(statuses['200']).toBeGreaterThanOrEqual(LIMIT * RIDERS);
    expect(statuses['200']).toBeLessThanOrEqual(LIMIT * RIDERS + local - localBefore);
    if (local === localBefore) decidedByRedis++;
    localBefore = local;
  }
  expect(decidedByRedis).toBeGreaterThan(0);
  // The first rounds load code and fill bounded caches. What is alive after them does not grow.
  const half = ROUNDS / 2;
  expect(Math.max(...heapMb.slice(half)) - Math.max(...heapMb.slice(0, half))).toBeLessThan(GROWTH_MB);
});
