import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import { Test } from '@nestjs/testing';
import { MemoryStore, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration, type Variables } from '../config/read-configuration.js';
import { MATCHING_LIMIT, matchingLimit } from '../limits/policies.js';
import { PATIENCE_MS } from '../../demo/riders/index.js';
import { mulberry32 } from '../../demo/riders/mulberry32.js';
import { advanceUntil } from '../../test/support/advance-until.js';
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

/**
 * Sends 2.5 times what matching can serve, whatever the answers and without retries: first without limits, then with them. Riders leave when their patience
 * ends.
 */
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
    const rider = new AbortController();
    const left = new Promise<boolean>((resolve) => rider.signal.addEventListener('abort', () => resolve(false)));
    const patience = setTimeout(() => rider.abort('gone'), PATIENCE_MS);
    const work = pool.run(
      () => new Promise((resolve) => setTimeout(resolve, matching.serviceMs)),
      matching.cancels ? rider.signal : undefined,
    );
    const answered = work.then(
      () => true,
      (error: unknown) => {
        if (error instanceof MatchingUnavailableError || error === 'gone') return false;
        throw error;
      },
    );
    const served = await Promise.race([answered, left]);
    clearTimeout(patience);
    answers.push({ atMs: now(), tookMs: now() - sentAt, served });
    await answered;
  };
  const random = mulberry32(seed);
  const perSecond = (2.5 * 1000 * matching.workers) / matching.serviceMs;
  const open: Promise<void>[] = [];
  for (let dueMs = 0; dueMs < END_MS; dueMs += (-1000 * Math.log(1 - random())) / perSecond) {
    if (dueMs > now()) await jest.advanceTimersByTimeAsync(Math.ceil(dueMs - now()));
    const isLimited = now() >= UNLIMITED_MS;
    const passes = (): boolean =>
      limiter.consumeSync(MATCHING_LIMIT, { kind: 'user', value: 'any' }, { priority: 'rides' }).allowed;
    if (!isLimited || passes()) open.push(ask());
  }
  await advanceUntil(Promise.all(open));
  await module.close();
  return answers;
}

function p99(answers: readonly Answer[]): number {
  const times = answers.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
  return times[Math.ceil(0.99 * times.length) - 1]!;
}

const between = (answers: readonly Answer[], fromMs: number, untilMs: number): Answer[] =>
  answers.filter(({ atMs }) => atMs > fromMs && atMs <= untilMs);

/** A quarter of the shipped city, with a burst that its workers begin at once. */
const CITY = {
  MATCHING_WORKERS: '2',
  MATCHING_SERVICE_MS: '53',
  MATCHING_QUEUE: '188',
  MATCHING_LIMIT: '25',
  MATCHING_BURST: '2',
};

/**
 * What the world without limits serves in time during the outage, as a share of what matching holds, and how many seconds after the
 * switch it has recovered: the least and the most. docs/demo.md has these figures.
 */
const PROTECTIONS: readonly (readonly [string, Variables, [number, number], [number, number]])[] = [
  ['an ordinary queue', {}, [0, 0], [14, 18]],
  ['MATCHING_CANCEL', { MATCHING_CANCEL: 'on' }, [0, 0.1], [8, 12]],
  ['MATCHING_NEWEST_FIRST', { MATCHING_NEWEST_FIRST: 'on' }, [0.98, 1.01], [3, 6]],
  ['both', { MATCHING_CANCEL: 'on', MATCHING_NEWEST_FIRST: 'on' }, [0.98, 1.01], [3, 6]],
];

/** A minute of a flood in fake time takes some seconds of a busy core. */
const TIME_LIMIT_MS = 60_000;

it.each(PROTECTIONS)(
  'in an outage with %s, and when limits are switched on',
  async (_, protection, useful, recovery) => {
    const variables = { ...CITY, ...protection };
    const { matching, matchingLimit: limit } = readConfiguration(variables);
    const answers = await flood(1, variables);

    const outage = between(answers, UNLIMITED_MS - 5000, UNLIMITED_MS);
    const served = outage.filter((answer) => answer.served).length;
    const share = served / ((5000 * matching.workers) / matching.serviceMs);
    const recovered: number[] = [];
    for (let atMs = UNLIMITED_MS; atMs <= END_MS; atMs += 100) {
      if (p99(between(answers, atMs - 2000, atMs)) < 500) recovered.push(atMs);
    }
    const [first, last] = [recovered[0]!, recovered.at(-1)!];
    expect(share).toBeGreaterThanOrEqual(useful[0]);
    expect(share).toBeLessThanOrEqual(useful[1]);
    // Most requests fail in all of them: no order of the queue makes the workers faster.
    expect(outage.filter((answer) => !answer.served).length).toBeGreaterThan(0.5 * outage.length);
    expect(p99(outage)).toBeGreaterThan(1500);
    const afterS = (first - UNLIMITED_MS) / 1000;
    expect(afterS).toBeGreaterThanOrEqual(recovery[0]);
    expect(afterS).toBeLessThanOrEqual(recovery[1]);
    // It lasts.
    expect(recovered).toHaveLength((last - first) / 100 + 1);
    expect(last).toBe(END_MS);
    const after = between(answers, UNLIMITED_MS + 20_000, END_MS);
    expect(after.every((answer) => answer.served)).toBe(true);
    expect(after.length / 20).toBeGreaterThan(0.98 * limit.perSecond);
    expect(after.length / 20).toBeLessThan(1.02 * limit.perSecond);
  },
  TIME_LIMIT_MS,
);
