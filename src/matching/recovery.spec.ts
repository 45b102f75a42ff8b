import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import { Test } from '@nestjs/testing';
import { MemoryStore, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration, type Variables } from '../config/read-configuration.js';
import { MATCHING_LIMIT, matchingLimit } from '../limits/policies.js';
import { mulberry32 } from '../riders/mulberry32.js';
import { MatchingUnavailableError } from './matching.js';
import { WorkerPool } from './worker-pool.js';

/** A request that no limit refused. */
interface Answer {
  readonly atMs: number;
  readonly tookMs: number;
  readonly served: boolean;
}

const UNLIMITED_MS = 20_000;
const END_MS = 60_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Sends 2.5 times what matching can serve, whatever the answers: first without limits, then with them. */
async function flood(seed: number, variables: Variables): Promise<readonly Answer[]> {
  const configuration = readConfiguration(variables);
  const { matching } = configuration;
  const store = new MemoryStore({ clock: () => 1000 * Date.now() });
  const policies = { [MATCHING_LIMIT]: matchingLimit(new ConfigService<Configuration, true>(configuration)) };
  const module = await Test.createTestingModule({ imports: [RateLimitModule.forRoot({ store, policies })] }).compile();
  const limiter = module.get(RateLimiter, { strict: false });
  const pool = new WorkerPool(matching);
  const answers: Answer[] = [];
  const startedAt = Date.now();
  const now = (): number => Date.now() - startedAt;
  const ask = async (): Promise<void> => {
    const sentAt = now();
    const work = pool.run(() => new Promise((resolve) => setTimeout(resolve, matching.serviceMs)));
    const served = await work.then(
      () => true,
      (error: unknown) => {
        if (error instanceof MatchingUnavailableError) return false;
        throw error;
      },
    );
    answers.push({ atMs: now(), tookMs: now() - sentAt, served });
  };
  const random = mulberry32(seed);
  const perSecond = (2.5 * 1000 * matching.workers) / matching.serviceMs;
  const open: Promise<void>[] = [];
  for (let dueMs = 0; dueMs < END_MS; dueMs += (-1000 * Math.log(1 - random())) / perSecond) {
    if (dueMs > now()) await jest.advanceTimersByTimeAsync(Math.ceil(dueMs - now()));
    const isLimited = now() >= UNLIMITED_MS;
    if (!isLimited || limiter.consumeSync(MATCHING_LIMIT, { kind: 'user', value: 'any' }).allowed) open.push(ask());
  }
  await jest.runAllTimersAsync();
  await Promise.all(open);
  await module.close();
  return answers;
}

function p99(answers: readonly Answer[]): number {
  const times = answers.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  return times[Math.ceil(0.99 * times.length) - 1]!;
}

const between = (answers: readonly Answer[], fromMs: number, untilMs: number): Answer[] =>
  answers.filter(({ atMs }) => atMs > fromMs && atMs <= untilMs);

/** The shipped defaults, and a city of a quarter for a small machine. */
const CITIES = [
  [{}, 150],
  [{ MATCHING_WORKERS: '4', MATCHING_LIMIT: '35.3', MATCHING_BURST: '20' }, 35.3],
] as const;

/** A minute of a flood in fake time takes some seconds of a busy core. */
const TIME_LIMIT_MS = 60_000;

const RUNS = CITIES.flatMap(([city, limit]) => [1, 2, 3].map((seed) => [city, limit, seed] as const));

it.each(RUNS)(
  'recovers within 10 s when limits are switched on: %j, limit %d/s, seed %i',
  async (city, limit, seed) => {
    const answers = await flood(seed, city);

    // The outage: failures after seconds.
    const outage = between(answers, UNLIMITED_MS - 2000, UNLIMITED_MS);
    expect(p99(outage)).toBeGreaterThan(1500);
    expect(outage.filter(({ served }) => !served).length).toBeGreaterThan(0.5 * outage.length);

    const recovered: number[] = [];
    for (let atMs = UNLIMITED_MS; atMs <= END_MS; atMs += 100) {
      if (p99(between(answers, atMs - 2000, atMs)) < 500) recovered.push(atMs);
    }
    const [first, last] = [recovered[0]!, recovered.at(-1)!];
    expect(first - UNLIMITED_MS).toBeLessThanOrEqual(10_000);
    // It lasts.
    expect(recovered).toHaveLength((last - first) / 100 + 1);
    expect(last).toBe(END_MS);
    const after = between(answers, UNLIMITED_MS + 10_000, END_MS);
    expect(after.every(({ served }) => served)).toBe(true);
    expect(after.length / 30).toBeGreaterThan(0.99 * limit);
    expect(after.length / 30).toBeLessThan(1.01 * limit);
  },
  TIME_LIMIT_MS,
);
