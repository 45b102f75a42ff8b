import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { Processes } from '../support/processes.js';
import { SEED } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { LASTING, takenFrom, takenKey, USERS } from './support/lasting-policies.js';
import { type OpenLimiter, openLimiter } from './support/open-limiter.js';
import type { procedures } from './workers/limiter.js';

const PROCESSES = 6;
const TURNS = 60;

let processes: Processes<typeof procedures>;
let opened: OpenLimiter;

// Jest runs hooks in this order: the server stops after its clients.
afterAll(async () => {
  await processes?.stop();
  await opened?.[Symbol.asyncDispose]();
});

const redis = useRedis();

beforeAll(async () => {
  opened = await openLimiter(redis.server.url);
  processes = await Processes.start(new URL('workers/limiter.ts', import.meta.url), PROCESSES);
  await processes.all('connect', () => redis.server.url);
});

/** A policy whose window outlasts the test, so that it admits `limit` requests in all. */
function windowOf(limit: number): Policy {
  return { name: 'window', algorithm: 'fixed-window', limit, window: '36500d' };
}

function tokensOf(capacity: number): Policy {
  return { name: 'tokens', algorithm: 'token-bucket', capacity, refill: '1/d' };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

describe('policies that processes charge together', () => {
  it.each([
    { window: 1500, tokens: 2000 },
    { window: 2000, tokens: 1500 },
  ])(
    'are charged for the same requests: a window of $window, a bucket of $tokens',
    async ({ window, tokens }) => {
      const policies = [windowOf(window), tokensOf(tokens)];
      const round = () => processes.all('count', () => ({ policies, forMs: 1000, inFlight: 8 }));
      const counts = [...(await round())];
      // A busy machine takes longer for as many requests.
      while (counts.every(({ refused }) => refused === 0)) counts.push(...(await round()));
      const admitted = sum(counts.map((count) => count.admitted));

      expect(sum(counts.map((count) => count.failed))).toBe(0);
      expect(admitted).toBe(1500);
      expect(await takenFrom(opened.limiter, policies[0]!, USERS[0]!)).toBe(admitted);
      expect(await takenFrom(opened.limiter, policies[1]!, USERS[0]!)).toBe(admitted);
    },
    60_000,
  );

  it(`are charged for admitted requests only, in random mixtures (seed ${SEED})`, async () => {
    const results = await processes.all('scramble', (index) => ({ seed: SEED + index, turns: TURNS }));

    for (const policy of LASTING) {
      for (const user of USERS) {
        const key = takenKey(policy, user);
        const expected = sum(results.map(({ taken }) => taken[key] ?? 0));
        expect([key, await takenFrom(opened.limiter, policy, user)]).toEqual([key, expected]);
      }
    }
  });
});
