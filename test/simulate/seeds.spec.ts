import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { isErrorReply, isUnsent } from '../../libs/floodgate/src/stores/redis/clients/client-failure.js';
import { LoadedRedisStore } from '../../libs/floodgate/src/stores/redis/loaded-redis-store.js';
import { RedisReservationLog } from '../../libs/floodgate/src/stores/redis/reservation-log.js';
import { setTimeout as later } from '../../libs/floodgate/src/util/real-timers.js';
import { SimulatedClient } from '../../simulate/redis/client.js';
import { brokenBy, type Finding, storyOf, trySeed } from '../../simulate/seeds/seeds.js';
import { perform } from '../../simulate/seeds/stage.js';
import { SEED_STRATEGIES } from '../../simulate/seeds/strategies/strategies.js';
import type { SeedStrategy } from '../../simulate/seeds/strategy.js';
import { LONG } from '../support/long.js';

const KEPT = new URL('../../simulate/seeds/kept/', import.meta.url);
/** Seeds of each strategy. A workflow tries thousands each night. */
const SEEDS = LONG ? 100 : 10;
/** Seeds within which a planted defect is found. */
const SOON = 20;

function strategyOf(name: string): SeedStrategy {
  return SEED_STRATEGIES.find((strategy) => strategy.name === name)!;
}

/** The first seed of a strategy that breaks a promise, shrunk. */
async function firstFinding(strategy: string, from: number): Promise<Finding> {
  for (let seed = from; seed < from + SOON; seed++) {
    const finding = await trySeed(strategyOf(strategy), seed);
    if (finding !== undefined) return finding;
  }
  throw new Error(`no story of ${SOON} broke a promise of ${strategy}`);
}

describe('random stories', () => {
  it.each(SEED_STRATEGIES)('break no promise of $name', async (strategy) => {
    for (let seed = 1; seed <= SEEDS; seed++) expect(await trySeed(strategy, seed)).toBeUndefined();
  });

  it('break no promise any more that they once broke', async () => {
    for (const file of existsSync(KEPT) ? readdirSync(KEPT) : []) {
      const { strategy, story } = JSON.parse(readFileSync(new URL(file, KEPT), 'utf8')) as Finding;
      expect([file, ...(await brokenBy(strategyOf(strategy), story))]).toEqual([file]);
    }
  });

  it.each(SEED_STRATEGIES)('have the same history each time: $name', async (strategy) => {
    const story = storyOf(strategy, 7);
    const [first, again] = [await perform(strategy, story), await perform(strategy, story)];
    expect(JSON.stringify(again)).toBe(JSON.stringify(first));
    expect(first.asked.length).toBeGreaterThan(0);
  });
});

describe('a planted defect is found, and shrunk to few events:', () => {
  afterEach(() => void jest.restoreAllMocks());

  it('a settlement that is sent twice', async () => {
    // oxlint-disable-next-line typescript/unbound-method -- it is called with its store
    const { settle } = LoadedRedisStore.prototype;
    jest.spyOn(LoadedRedisStore.prototype, 'settle').mockImplementation(async function (this: LoadedRedisStore, all) {
      const settled = await settle.call(this, all);
      await settle.call(this, all);
      return settled;
    });
    const { story, broken } = await firstFinding('settle', 1);
    expect(story.events.length).toBeLessThanOrEqual(2);
    expect(broken.join()).toMatch(/'ledger' has counted \d+ for client \d, expected \d/);
  });

  it('a release that is not sent', async () => {
    jest.spyOn(LoadedRedisStore.prototype, 'refund').mockResolvedValue();
    const { story, broken } = await firstFinding('leases', 3);
    expect(story.events.length).toBeLessThanOrEqual(4);
    expect(broken.join()).toMatch(/was rejected while at most \d of 4 places were taken/);
  });

  it('a reservation that nobody settles when its process has died', async () => {
    const nothing = { taken: [], more: false, malformed: 0 };
    jest.spyOn(RedisReservationLog.prototype, 'takeDue').mockResolvedValue(nothing);
    const { story, broken } = await firstFinding('settle', 101);
    expect(story.events.map((event) => event.do)).toEqual(['ask', 'kill']);
    expect(broken.join()).toMatch(/'ledger' has counted \d+ for client \d, expected \d/);
  });

  it('a call that is sent again once its connection is lost', async () => {
    // oxlint-disable-next-line typescript/unbound-method -- it is called with its client
    const { runByHash } = SimulatedClient.prototype;
    jest.spyOn(SimulatedClient.prototype, 'runByHash').mockImplementation(function (
      this: SimulatedClient,
      ...call
    ): Promise<unknown> {
      return runByHash.apply(this, call).catch(async (error: Error) => {
        if (isErrorReply(error) || isUnsent(error)) throw error;
        await new Promise<void>((resolve) => void later(resolve, 300));
        return runByHash.apply(this, call);
      });
    });
    const { story, broken } = await firstFinding('buckets', 110);
    expect(story.events.map((event) => event.do)).toEqual(['ask', 'ask', 'cut']);
    expect(broken.join()).toMatch(/'ledger' has counted \d+ for client \d, expected \d/);
  });
});
