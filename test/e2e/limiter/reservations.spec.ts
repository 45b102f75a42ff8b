import { describe, expect, it } from '@jest/globals';
import {
  type Identity,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { type Platform, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { RedisServer } from '../../support/redis-server.js';
import { KINDS, storeOf } from '../support/kinds.js';

const TOKENS: Policy = { name: 'tokens', algorithm: 'token-bucket', capacity: 10_000, refill: '1000/d' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 12_000, window: '300d', overdraft: 1_000 };
const ADA: Identity = { kind: 'user', value: 'ada' };

const redis = useRedis();

interface Opened extends AsyncDisposable {
  readonly limiter: RateLimiter;
  /** What is left of both policies. */
  readonly left: () => Promise<number[]>;
}

async function open(options: RateLimitModuleOptions, platform: Platform = 'Express'): Promise<Opened> {
  const app = await start(platform, { imports: [RateLimitModule.forRoot(options)] });
  const limiter = app.app.get(RateLimiter);
  const left = async (): Promise<number[]> =>
    (await limiter.peek([TOKENS, DAILY], ADA)).policies.map(({ remaining }) => remaining);
  return { limiter, left, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

describe.each(KINDS)('a reservation over $platform in $store', (kind) => {
  it('is charged at once, and settled at its final cost under every policy', async () => {
    await using opened = await open(storeOf(kind, redis), kind.platform);
    const { limiter, left } = opened;
    const reservation = await limiter.reserve([TOKENS, DAILY], ADA, { cost: 2_000 });
    expect(reservation.allowed).toBe(true);
    expect(reservation.decision.policies.map(({ remaining }) => remaining)).toEqual([8_000, 10_000]);
    const settlement = await reservation.settle(150);
    expect(settlement).toEqual({
      settledBy: 'store',
      policies: ['tokens', 'daily'].map((policy) => ({
        policy,
        settledBy: 'store',
        refunded: 1_850,
        charged: 0,
        beyondOverdraft: 0,
      })),
    });
    expect(await left()).toEqual([9_850, 11_850]);
  });

  it('charges more whether it fits or not, up to the overdraft, and says what is beyond it', async () => {
    await using opened = await open(storeOf(kind, redis), kind.platform);
    const { limiter, left } = opened;
    const reservation = await limiter.reserve([TOKENS, DAILY], ADA, { cost: 9_000 });
    const { policies } = await reservation.settle(15_000);
    expect(policies.map(({ charged, beyondOverdraft }) => [charged, beyondOverdraft])).toEqual([
      [6_000, 0],
      [4_000, 2_000],
    ]);
    expect(await left()).toEqual([0, 0]);
    // 5,000 tokens are owed, and one more has to come: 1,000 in a day.
    const { retryAfterMs } = await limiter.peek(TOKENS, ADA);
    expect(retryAfterMs! / 86_400_000).toBeCloseTo(5.001, 2);
    expect((await limiter.reserve(TOKENS, ADA)).allowed).toBe(false);
  });

  it('is settled once: again is an error that changes nothing, and so is a wrong cost', async () => {
    await using opened = await open(storeOf(kind, redis), kind.platform);
    const { limiter, left } = opened;
    const reservation = await limiter.reserve(DAILY, ADA, { cost: 100 });
    for (const wrong of [-1, 0.5, NaN, '1', undefined]) {
      await expect(reservation.settle(wrong as number)).rejects.toThrow('must be a whole number from 0');
    }
    expect((await left())[1]).toBe(11_900);
    await reservation.cancel();
    expect((await left())[1]).toBe(12_000);
    await expect(reservation.settle(5)).rejects.toThrow('settle(5): the reservation was cancelled before (see http');
    await expect(reservation.cancel()).rejects.toMatchObject({
      name: 'ReservationClosedError',
      code: 'FG_RESERVATION_CLOSED',
    });
    const both = await limiter.reserve(DAILY, ADA, { cost: 100 });
    const raced = await Promise.allSettled([both.settle(10), both.settle(20), both.cancel()]);
    expect(raced.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect((await left())[1]).toBe(11_990);
  });
});

describe('a reservation without its store', () => {
  it('that Redis decided resolves within the deadline, and says that nothing was settled', async () => {
    const own = await RedisServer.start();
    await using opened = await open({ redis: own.url, deadline: '10s' });
    const { limiter } = opened;
    const reservation = await limiter.reserve(DAILY, ADA, { cost: 4_000 });
    expect(reservation.decision.decidedBy).toBe('store');
    await own.stop();
    const { settledBy, policies, error } = await reservation.settle(1_000);
    expect({ settledBy, policies }).toEqual({
      settledBy: 'none',
      policies: [{ policy: 'daily', settledBy: 'none', refunded: 0, charged: 0, beyondOverdraft: 0 }],
    });
    expect(error?.name).toBe('RateLimitStoreError');
    await expect(reservation.settle(1_000)).rejects.toThrow('was settled before');
  });
});
