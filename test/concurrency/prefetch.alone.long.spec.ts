import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Policy } from 'nestjs-floodgate';
import { perSecond } from '../../libs/textbook/arithmetic.js';
import { costByWindow } from '../../libs/textbook/bounds.js';
import { TextbookTokenBucket } from '../../libs/textbook/textbook.js';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';
import { commandsDuring } from './support/command-stats.js';
import type { Outcome, procedures } from './workers/prefetch.js';

const PODS = 20;
/** Longer than usual: a busy machine makes processes wait for their turn. */
const PREFETCH = { for: '500ms', max: 200 };
const START_MS = 300;
/** Clocks that run nearly as far apart from Redis's as prefetches allow for. */
const CLOCKS = [1, 0.9981, 1.0019];
/** Microseconds by which the instants of different processes may be apart here. */
const CLOCK_ERROR = 100;

let server: RedisServer;
let client: Redis;
let pods: Processes<typeof procedures>;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'prefetches-'));
  server = await RedisServer.start({ keepsData: true });
  client = new Redis(server.url, { maxRetriesPerRequest: null });
  client.on('error', () => undefined); // it is restarted
  pods = await Processes.start(new URL('workers/prefetch.ts', import.meta.url), PODS);
  await pods.all('connect', (i) => ({ redis: server.url, clock: CLOCKS[i % CLOCKS.length]!, deadlineMs: 1_000 }));
}, 240_000);
afterAll(async () => {
  client?.disconnect();
  await pods?.stop();
  await server?.stop();
  rmSync(folder, { recursive: true });
});

interface Run {
  /** Of all decisions, and of admissions, in microseconds. */
  readonly asked: readonly number[];
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
  const name = policies.map((one) => `${one.name}-${'prefetch' in one}`).join();
  const from = Date.now() + START_MS;
  let outcomes: readonly Outcome[] = [];
  const file = (i: number): string => join(folder, `${name}-${i}`);
  const work = async (): Promise<void> => {
    const loads = Array.from({ length: PODS }, async (_, i) => {
      const load = { policies, rate: rate / PODS, from, until: from + forMs, file: file(i) };
      return pods.one(i, 'load', load).catch((): Outcome => ({ requests: 0, byPrefetch: 0, failed: 0 })); // it was killed
    });
    await Promise.all([...loads, trouble?.()]);
    outcomes = await Promise.all(loads);
  };
  let calls = 0;
  if (trouble === undefined) calls = (await commandsDuring(client, work))('evalsha').calls;
  else await work();
  const decisions = Array.from({ length: PODS }, (_, i) => {
    const bytes = readFileSync(file(i));
    const numbers = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + (bytes.length & ~15)));
    return Array.from({ length: numbers.length / 2 }, (__, n) => ({
      at: numbers[2 * n]!,
      admitted: numbers[2 * n + 1]!,
    }));
  })
    .flat()
    .toSorted((a, b) => a.at - b.at);
  const instants = decisions.filter(({ admitted }) => admitted === 1).map(({ at }) => at);
  return { asked: decisions.map(({ at }) => at), instants, outcomes, calls };
}

/** How many requests at these instants an exact token bucket admits. */
function admittedBy(capacity: number, refill: number, instants: readonly number[]): number {
  const textbook = new TextbookTokenBucket(capacity, perSecond(refill));
  return instants.filter((at) => textbook.ask(Math.floor(at)).allowed).length;
}

function bySecond(instants: readonly number[]): number[] {
  const admissions = instants.map((at) => ({ at }));
  return [...costByWindow(admissions, 1_000_000).values()];
}

/** How many of the admissions a textbook would not make, up to the error of the clocks. */
function overBucket({ instants }: Run, capacity: number, refill: number): number {
  const textbook = new TextbookTokenBucket(capacity, perSecond(refill));
  let last = 0;
  let over = 0;
  for (const at of instants) {
    last = Math.max(last, Math.floor(at) + CLOCK_ERROR);
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

describe('prefetches of 20 processes whose clocks drift', () => {
  it('spare Redis 19 of 20 calls for a client within its limit, who notices nothing', async () => {
    const policy = { name: 'hot', algorithm: 'token-bucket', capacity: 40_000, refill: 10_000 } as const;
    const all = await run([{ ...policy, prefetch: { for: '2s', max: 1_000 } }], 1_600, 6_000);
    const perCall = countOf(all, 'requests') / all.calls;
    report({
      name: 'hot',
      perCall,
      requests: countOf(all, 'requests'),
      byPrefetch: countOf(all, 'byPrefetch'),
      calls: all.calls,
    });
    expect(overBucket(all, 40_000, 10_000)).toBe(0);
    expect(all.instants).toHaveLength(countOf(all, 'requests') - countOf(all, 'failed'));
    expect(perCall).toBeGreaterThan(20);
    expect(countOf(all, 'byPrefetch')).toBeGreaterThan(0.9 * countOf(all, 'requests'));
  }, 60_000);

  it('never admit more than a token bucket that is asked for too much, and hardly less', async () => {
    const policy = { name: 'busy', algorithm: 'token-bucket', capacity: 200, refill: 100, prefetch: PREFETCH } as const;
    const all = await run([policy], 1_000, 5_000);
    const exact = admittedBy(200, 100, all.asked);
    report({
      name: 'busy',
      ratio: all.instants.length / exact,
      asked: all.asked.length,
      exact,
      byPrefetch: countOf(all, 'byPrefetch'),
    });
    expect(overBucket(all, 200, 100)).toBe(0);
    expect(countOf(all, 'byPrefetch')).toBeGreaterThan(0);
    expect(all.instants.length).toBeGreaterThan(0.95 * exact);
  }, 60_000);

  it.each(['fixed-window', 'sliding-window-counter'] as const)(
    'never admit more than a %s',
    async (algorithm) => {
      const policy = { name: algorithm, algorithm, limit: 300, window: '1s', prefetch: PREFETCH } as const;
      const all = await run([policy], 1_000, 5_000);
      const [asked, admitted] = [bySecond(all.asked), bySecond(all.instants)];
      report({
        name: algorithm,
        asked,
        admitted,
        byPrefetch: countOf(all, 'byPrefetch'),
      });
      expect(Math.max(...admitted)).toBeLessThanOrEqual(300);
      expect(Math.max(...admitted)).toBeGreaterThan(0.95 * Math.min(300, Math.max(...asked)));
      expect(countOf(all, 'byPrefetch')).toBeGreaterThan(0);
    },
    60_000,
  );

  it('never admit more while processes are killed, and Redis stops, dies and comes back', async () => {
    const policy = {
      name: 'fault',
      algorithm: 'token-bucket',
      capacity: 400,
      refill: 400,
      prefetch: PREFETCH,
    } as const;
    const trouble = async (): Promise<void> => {
      await sleep(START_MS + 800);
      await Promise.all([0, 4, 8].map((i) => pods.kill(i)));
      await sleep(400);
      server.pause();
      await sleep(300);
      server.resume();
      await Promise.all([1, 5, 9].map((i) => pods.kill(i)));
      await sleep(1_000);
      await server.kill();
      await sleep(200);
      await server.restart();
    };
    const all = await run([policy], 1_500, 7_000, trouble);
    const counts = {
      admitted: all.instants.length,
      byPrefetch: countOf(all, 'byPrefetch'),
      failed: countOf(all, 'failed'),
    };
    report({ name: 'fault', ...counts });
    expect(overBucket(all, 400, 400)).toBe(0);
    expect(counts.byPrefetch).toBeGreaterThan(0);
    expect(counts.admitted).toBeGreaterThan(500);
  }, 60_000);
});
