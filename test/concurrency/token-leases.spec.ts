import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Policy } from 'nestjs-floodgate';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';
import { commandsDuring } from './support/command-stats.js';
import { TextbookTokenBucket } from './support/textbook.js';
import type { Outcome, procedures } from './workers/token-leases.js';

const PODS = 20;
const LEASE = { for: '100ms', max: 200 };
const START_MS = 300;
/** Clocks that run nearly as far apart from Redis's as leases allow for. */
const CLOCKS = [1, 0.9981, 1.0019];
/** Microseconds by which the instants of different processes may be apart here. */
const CLOCK_ERROR = 100;

let server: RedisServer;
let client: Redis;
let pods: Processes<typeof procedures>;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leases-'));
  server = await RedisServer.start({ keepsData: true });
  client = new Redis(server.url, { maxRetriesPerRequest: null });
  client.on('error', () => undefined); // it is restarted
  pods = await Processes.start(new URL('workers/token-leases.ts', import.meta.url), PODS);
  await pods.all('connect', (i) => ({ redis: server.url, clock: CLOCKS[i % CLOCKS.length]! }));
}, 240_000);
afterAll(async () => {
  client?.disconnect();
  await pods?.stop();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

interface Run {
  readonly instants: readonly number[];
  readonly outcomes: readonly Outcome[];
  readonly calls: number;
}

/** All pods ask about one client. */
async function run(
  policies: readonly Policy[],
  rate: number,
  forMs: number,
  trouble?: () => Promise<void>,
): Promise<Run> {
  const name = policies.map((one) => `${one.name}-${'lease' in one}`).join();
  const from = Date.now() + START_MS;
  let outcomes: readonly Outcome[] = [];
  const file = (i: number): string => join(folder, `${name}-${i}`);
  const work = async (): Promise<void> => {
    const loads = Array.from({ length: PODS }, async (_, i) => {
      const load = { policies, rate: rate / PODS, from, until: from + forMs, file: file(i) };
      return pods.one(i, 'load', load).catch((): Outcome => ({ requests: 0, byLease: 0, failed: 0 })); // it was killed
    });
    await Promise.all([...loads, trouble?.()]);
    outcomes = await Promise.all(loads);
  };
  let calls = 0;
  if (trouble === undefined) calls = (await commandsDuring(client, work))('evalsha').calls;
  else await work();
  const instants = Array.from({ length: PODS }, (_, i) => {
    const bytes = readFileSync(file(i));
    return [...new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + (bytes.length & ~7)))];
  }).flat();
  return { instants: instants.toSorted((a, b) => a - b), outcomes, calls };
}

/** How many of the admissions a textbook would not make, up to the error of the clocks. */
function overBucket({ instants }: Run, capacity: number, refill: number): number {
  const textbook = new TextbookTokenBucket(BigInt(capacity), BigInt(refill));
  const slack = BigInt(CLOCK_ERROR);
  let last = 0n;
  let over = 0;
  for (const at of instants) {
    const now = BigInt(Math.floor(at)) + slack;
    if (now > last) last = now;
    if (!textbook.ask(last).allowed) over++;
  }
  return over;
}

function countOf({ outcomes }: Run, of: keyof Outcome): number {
  return outcomes.reduce((sum, outcome) => sum + outcome[of], 0);
}

/** The figures, for those who read the output of a run. */
function report(figures: object): void {
  process.stderr.write(`${JSON.stringify(figures)}\n`);
}

describe('leases of 20 processes whose clocks drift', () => {
  it('spare Redis 19 of 20 calls for a client within its limit, who notices nothing', async () => {
    const policy = { name: 'hot', algorithm: 'token-bucket', capacity: 20_000, refill: 10_000 } as const;
    const lease = { for: '500ms', max: 200 };
    const exact = await run([policy], 1_600, 3_000);
    const leased = await run([{ ...policy, lease }], 1_600, 3_000);
    expect(overBucket(leased, 20_000, 10_000)).toBe(0);
    expect(leased.instants).toHaveLength(countOf(leased, 'requests') - countOf(leased, 'failed'));
    expect(leased.instants.length).toBeGreaterThan(0.95 * countOf(leased, 'requests'));
    const perCall = (of: Run): number => countOf(of, 'requests') / of.calls;
    report({ name: 'hot', perCall: [perCall(exact), perCall(leased)], byLease: countOf(leased, 'byLease') });
    expect(perCall(leased)).toBeGreaterThan(20 * Math.min(1, perCall(exact)));
  }, 60_000);

  it('never admit more than a token bucket that is asked for too much, and hardly less', async () => {
    const policy = { name: 'busy', algorithm: 'token-bucket', capacity: 400, refill: 500 } as const;
    const exact = await run([policy], 1_000, 4_000);
    const leased = await run([{ ...policy, lease: LEASE }], 1_000, 4_000);
    report({
      name: 'busy',
      admitted: [exact.instants.length, leased.instants.length],
      calls: [exact.calls, leased.calls],
    });
    expect(overBucket(exact, 400, 500)).toBe(0);
    expect(overBucket(leased, 400, 500)).toBe(0);
    expect(countOf(leased, 'byLease')).toBeGreaterThan(0);
    expect(leased.instants.length).toBeGreaterThan(0.95 * exact.instants.length);
  }, 60_000);

  it.each(['fixed-window', 'sliding-window-counter'] as const)(
    'never admit more than a %s',
    async (algorithm) => {
      const policy = { name: algorithm, algorithm, limit: 300, window: '500ms', lease: LEASE } as const;
      const all = await run([policy], 1_000, 4_000);
      const windows = new Map<number, number>();
      for (const at of all.instants) windows.set(Math.floor(at / 5e5), (windows.get(Math.floor(at / 5e5)) ?? 0) + 1);
      report({ name: algorithm, windows: [...windows.values()], calls: all.calls, byLease: countOf(all, 'byLease') });
      expect(Math.max(...windows.values())).toBeLessThanOrEqual(300);
      expect(Math.max(...windows.values())).toBeGreaterThan(285);
      expect(countOf(all, 'byLease')).toBeGreaterThan(0);
    },
    60_000,
  );

  it('never admit more while processes are killed, and Redis stops, dies and comes back', async () => {
    const policy = { name: 'fault', algorithm: 'token-bucket', capacity: 600, refill: 800, lease: LEASE } as const;
    const trouble = async (): Promise<void> => {
      await sleep(START_MS + 400);
      await Promise.all([0, 4, 8].map((i) => pods.kill(i)));
      await sleep(200);
      server.pause();
      await sleep(300);
      server.resume();
      await Promise.all([1, 5, 9].map((i) => pods.kill(i)));
      await sleep(500);
      await server.kill();
      await sleep(200);
      await server.restart();
    };
    const all = await run([policy], 2_000, 5_000, trouble);
    report({
      name: 'fault',
      admitted: all.instants.length,
      byLease: countOf(all, 'byLease'),
      failed: countOf(all, 'failed'),
    });
    expect(overBucket(all, 600, 800)).toBe(0);
    expect(countOf(all, 'byLease')).toBeGreaterThan(0);
    expect(all.instants.length).toBeGreaterThan(1_000);
  }, 60_000);
});
