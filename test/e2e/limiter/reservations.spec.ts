import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Identity,
  MemoryStore,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitStore,
  ReservationClosedError,
} from 'nestjs-floodgate';
import { start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

const TOKENS: Policy = { name: 'tokens', algorithm: 'token-bucket', capacity: 10_000, refill: '1000/h' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 12_000, window: '300d', overdraft: 1_000 };
const ADA: Identity = { kind: 'user', value: 'ada' };

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());

interface Opened extends AsyncDisposable {
  readonly limiter: RateLimiter;
  /** What is left of both policies. */
  readonly left: () => Promise<number[]>;
}

async function open(options: RateLimitModuleOptions): Promise<Opened> {
  const app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
  const limiter = app.app.get(RateLimiter);
  const left = async (): Promise<number[]> =>
    (await limiter.peek([TOKENS, DAILY], ADA)).policies.map(({ remaining }) => remaining);
  return { limiter, left, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['in memory', () => ({ store: new MemoryStore() })],
  ['in Redis', () => ({ redis: server.url, keyPrefix: `t${Math.random()}` })],
];

describe.each(STORES)('a reservation %s', (_, options) => {
  it('is charged at once, and settled at its final cost under every policy', async () => {
    await using opened = await open(options());
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
    await using opened = await open(options());
    const { limiter, left } = opened;
    const reservation = await limiter.reserve([TOKENS, DAILY], ADA, { cost: 9_000 });
    const { policies } = await reservation.settle(15_000);
    expect(policies.map(({ charged, beyondOverdraft }) => [charged, beyondOverdraft])).toEqual([
      [6_000, 0],
      [4_000, 2_000],
    ]);
    expect(await left()).toEqual([0, 0]);
    // 5,000 tokens are owed, and one more has to come.
    const { retryAfterMs } = await limiter.peek(TOKENS, ADA);
    expect(retryAfterMs! / 3_600_000).toBeCloseTo(5.001, 2);
    expect((await limiter.reserve(TOKENS, ADA)).allowed).toBe(false);
  });

  it('is settled once: again is an error that changes nothing, and so is a wrong cost', async () => {
    await using opened = await open(options());
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

  it('that is rejected charges nothing, and has nothing to settle', async () => {
    await using opened = await open(options());
    const { limiter, left } = opened;
    const reservation = await limiter.reserve([TOKENS, DAILY], ADA, { cost: 11_000 });
    expect(reservation).toMatchObject({ allowed: false, decision: { allowed: false, retryAfterMs: null } });
    await expect(reservation.settle(1)).rejects.toThrow(ReservationClosedError);
    expect(await left()).toEqual([10_000, 12_000]);
  });

  it('of cost 0 asks first and pays later, and the cost of the policy is the default', async () => {
    await using opened = await open(options());
    const { limiter, left } = opened;
    const free = await limiter.reserve(DAILY, ADA, { cost: 0 });
    expect((await left())[1]).toBe(12_000);
    await free.settle(70);
    expect((await left())[1]).toBe(11_930);
    await (await limiter.reserve({ ...DAILY, cost: 30 }, ADA)).settle(20);
    expect((await left())[1]).toBe(11_910);
    await expect(limiter.reserve(DAILY, ADA, { costs: 1 } as never)).rejects.toThrow('RateLimiter.reserve');
  });

  it('lets requests pass that were rejected just before its refund', async () => {
    await using opened = await open(options());
    const { limiter } = opened;
    const reservation = await limiter.reserve(TOKENS, ADA, { cost: 10_000 });
    expect((await limiter.consume(TOKENS, ADA, { cost: 500 })).allowed).toBe(false);
    await reservation.settle(1_000);
    expect((await limiter.consume(TOKENS, ADA, { cost: 500 })).allowed).toBe(true);
  });
});

describe('a reservation without its store', () => {
  const away = { redis: 'redis://127.0.0.1:1', deadline: '40ms' };

  it('is settled where this process decided it', async () => {
    await using opened = await open({ ...away, localShare: 2 });
    const { limiter } = opened;
    const reservation = await limiter.reserve(DAILY, ADA, { cost: 4_000 });
    expect(reservation.decision.decidedBy).toBe('local');
    expect((await reservation.settle(1_000)).policies).toEqual([
      { policy: 'daily', settledBy: 'local', refunded: 3_000, charged: 0, beyondOverdraft: 0 },
    ]);
    expect((await limiter.peek(DAILY, ADA)).policies[0]!.remaining).toBe(5_000);
    // The overdraft is shared as the limit is.
    const { policies } = await (await limiter.reserve(DAILY, ADA, { cost: 5_000 })).settle(9_000);
    expect(policies[0]).toMatchObject({ charged: 500, beyondOverdraft: 3_500 });
  });

  it('says that an open policy settles nothing', async () => {
    await using opened = await open(away);
    const { limiter } = opened;
    const reservation = await limiter.reserve({ ...DAILY, onStoreFailure: 'open' }, ADA, { cost: 4_000 });
    expect(reservation.allowed).toBe(true);
    expect(await reservation.settle(1_000)).toEqual({ settledBy: 'none', policies: [] });
  });

  it('that Redis decided resolves within the deadline, and says that nothing was settled', async () => {
    const own = await RedisServer.start();
    await using opened = await open({ redis: own.url, deadline: 200 });
    const { limiter } = opened;
    const reservation = await limiter.reserve(DAILY, ADA, { cost: 4_000 });
    expect(reservation.decision.decidedBy).toBe('store');
    await own.stop();
    const since = performance.now();
    const { settledBy, policies, error } = await reservation.settle(1_000);
    expect(performance.now() - since).toBeLessThan(2_000);
    expect({ settledBy, policies }).toEqual({
      settledBy: 'none',
      policies: [{ policy: 'daily', settledBy: 'none', refunded: 0, charged: 0, beyondOverdraft: 0 }],
    });
    expect(error?.name).toBe('RateLimitStoreError');
    await expect(reservation.settle(1_000)).rejects.toThrow('was settled before');
  });
});

describe('a store of the application', () => {
  function custom(parts: readonly (keyof RateLimitStore)[]): RateLimitStore {
    const store = new MemoryStore();
    const whole: RateLimitStore = {
      consume: (charges) => store.consume(charges),
      reset: (keys) => store.reset(keys),
      refund: (receipts) => store.refund(receipts),
    };
    return Object.fromEntries(Object.entries(whole).filter(([name]) => parts.includes(name as 'refund'))) as never;
  }

  it('without settle refunds by refund, and cannot charge more', async () => {
    await using opened = await open({ store: custom(['consume', 'reset', 'refund']) });
    const { limiter, left } = opened;
    const reservation = await limiter.reserve(DAILY, ADA, { cost: 100 });
    await expect(reservation.settle(150)).rejects.toThrow(
      '100 was reserved, and 150 cannot be charged: the store has no method settle (see RateLimitStore)',
    );
    expect((await reservation.settle(40)).policies).toEqual([
      { policy: 'daily', settledBy: 'store', refunded: null, charged: 0, beyondOverdraft: 0 },
    ]);
    expect((await left())[1]).toBe(11_960);
  });

  it('without refund keeps the charge, and says so', async () => {
    await using opened = await open({ store: custom(['consume', 'reset']) });
    const { limiter, left } = opened;
    const reservation = await limiter.reserve(DAILY, ADA, { cost: 100 });
    expect((await reservation.cancel()).settledBy).toBe('none');
    expect((await left())[1]).toBe(11_900);
  });
});
