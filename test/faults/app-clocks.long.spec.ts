import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { parse } from '../concurrency/support/history.js';
import type { procedures } from '../concurrency/workers/limiter.js';
import { record } from '../support/faults/record.js';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';

const SKEW_MS = 100;
/** Milliseconds that each process's clock is ahead. */
const AHEAD_MS = [0, SKEW_MS, 0, SKEW_MS];
const FOR_MS = 800;
const RATE = 200;
const LIMIT = 100;
const WINDOW_MS = 250;

let server: RedisServer;
let processes: Processes<typeof procedures>;

beforeAll(async () => {
  server = await RedisServer.start();
  processes = await Processes.start(new URL('../concurrency/workers/limiter.ts', import.meta.url), AHEAD_MS.length);
  await processes.all('connectByOwnClock', (i) => ({ redis: server.url, aheadMs: AHEAD_MS[i]! }));
}, 60_000);

afterAll(async () => {
  await processes?.stop();
  await server?.stop();
});

/** The admissions of all processes, in order, in milliseconds of one common clock. */
interface Together {
  readonly admitted: readonly number[];
  /** When the last request was rejected. */
  readonly rejected: number;
}

interface Count {
  /** Admissions beyond the limit in the worst interval. */
  readonly beyond: number;
  /** Charges without an admission; undefined where they cannot be told. */
  readonly lost?: number;
}

/** Allows `burst`, plus `rate` per second in the interval and the skew. Demands all of it except for the skew's part. */
function byRate({ admitted, rejected }: Together, burst: number, rate: number): Count {
  const perMs = rate / 1000;
  let [beyond, lowest] = [0, Infinity];
  for (const [i, at] of admitted.entries()) {
    lowest = Math.min(lowest, i - perMs * at);
    beyond = Math.max(beyond, i + 1 - perMs * at - lowest - burst - perMs * SKEW_MS);
  }
  const there = burst + perMs * (rejected - admitted[0]! - SKEW_MS);
  return { beyond: Math.ceil(beyond - 1e-6), lost: Math.max(0, Math.ceil(there - 1) - admitted.length) };
}

/** Allows the limit in every interval of a window less the skew: an instant may look older by the skew. */
function byLog({ admitted }: Together): Count {
  let [beyond, first] = [0, 0];
  for (const [i, at] of admitted.entries()) {
    while (admitted[first]! <= at - (WINDOW_MS - SKEW_MS)) first++;
    beyond = Math.max(beyond, i + 1 - first - LIMIT);
  }
  return { beyond };
}

/** Allows one limit for each window that any clock showed: no window gives its limit twice. */
function byWindows({ admitted }: Together): Count {
  const windowOf = (at: number): number => Math.floor(at / WINDOW_MS);
  const windows = 1 + windowOf(admitted.at(-1)! + SKEW_MS) - windowOf(admitted[0]!);
  return { beyond: Math.max(0, admitted.length - windows * LIMIT) };
}

const CASES: readonly (readonly [Policy, (together: Together) => Count])[] = [
  [
    { name: 'tokens', algorithm: 'token-bucket', capacity: LIMIT, refill: RATE },
    (together) => byRate(together, LIMIT, RATE),
  ],
  [
    { name: 'queue', algorithm: 'leaky-bucket', capacity: LIMIT, drain: RATE },
    (together) => byRate(together, LIMIT + 1, RATE), // the first request takes no place in the queue
  ],
  [{ name: 'window', algorithm: 'fixed-window', limit: LIMIT, window: WINDOW_MS }, byWindows],
  [{ name: 'log', algorithm: 'sliding-window-log', limit: LIMIT, window: WINDOW_MS }, byLog],
  [{ name: 'counter', algorithm: 'sliding-window-counter', limit: LIMIT, window: WINDOW_MS }, byWindows],
];

it('pods that decide by clocks 100 ms apart admit no more than the skew allows, with every algorithm', async () => {
  const answers: number[] = [];
  let [doubles, overAdmissions] = [0, 0];
  for (const [policy, count] of CASES) {
    const told = await processes.all('hammerTimed', () => ({ policy, forMs: FOR_MS, inFlight: 2 }));
    const seen = told.flatMap(({ history }, i) =>
      parse(history).map(({ at, allowed }) => ({ at: at / 1000 - AHEAD_MS[i]!, allowed })),
    );
    for (const each of told) answers.push(...each.answers);
    const admitted = seen.filter(({ allowed }) => allowed).map(({ at }) => at);
    const rejected = Math.max(...seen.filter(({ allowed }) => !allowed).map(({ at }) => at));
    const { beyond, lost = 0 } = count({ admitted: admitted.toSorted((a, b) => a - b), rejected });
    doubles += lost;
    overAdmissions += beyond;
  }
  record("clocks 100 ms apart, clock: 'app'", { answers, doubles, overAdmissions });
  expect({ doubles, overAdmissions }).toEqual({ doubles: 0, overAdmissions: 0 });
}, 60_000);
