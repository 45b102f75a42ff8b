import { describe, expect, it } from '@jest/globals';
import {
  chargedBy,
  createLimiter,
  type Identity,
  limitedFetch,
  MemoryStore,
  type Policy,
  type RateLimiter,
} from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { useRedis } from '../../support/redis-fixture.js';
import { turns } from '../scheduling/support/scheduled-calls.js';

const POLICIES = {
  requests: { algorithm: 'fixed-window', limit: 20, window: '300d' },
  tokens: { algorithm: 'fixed-window', limit: 90_000, window: '300d' },
  images: { algorithm: 'sliding-window-log', limit: 50, window: '1d', cost: 2 },
  slots: { algorithm: 'concurrency', limit: 4, lease: '30s' },
  watched: { algorithm: 'fixed-window', limit: 100, window: '300d', mode: 'shadow' },
  classed: { algorithm: 'token-bucket', capacity: 10, refill: '1/d', priorities: { high: 1, low: 0.5 } },
  planned: { algorithm: 'fixed-window', limit: 10, window: '300d', plans: { pro: { limit: 100 } } },
  settled: { algorithm: 'token-bucket', capacity: 1_000, refill: '1/d', cost: 100, settle: () => 7 },
} as const satisfies Record<string, Policy>;
type Name = keyof typeof POLICIES;

const ADA: Identity = { kind: 'user', value: 'ada' };
const PAIR: readonly Name[] = ['requests', 'tokens'];

const redis = useRedis();

async function open(options: Parameters<typeof createLimiter>[0]) {
  const limiter = await createLimiter({ policies: POLICIES, deadline: '10s', ...options });
  await limiter.start();
  return {
    limiter,
    /** What is left of policies. */
    left: async (...names: readonly Name[]): Promise<number[]> =>
      Promise.all(
        names.map(async (name) => {
          const { policies, shadow = [] } = await limiter.peek(name, ADA, name === 'planned' ? { plan: 'pro' } : {});
          return [...policies, ...shadow][0]!.remaining;
        }),
      ),
    [Symbol.asyncDispose]: () => limiter.close(),
  };
}

describe.each(['memory', 'Redis'])('a cost by name, in %s', (kind) => {
  const options = () => (kind === 'Redis' ? { redis: redis.server.url } : { store: new MemoryStore() });

  it('is that of its policy: the others are charged their own, and keep it when the named one is settled', async () => {
    await using opened = await open(options());
    const { limiter, left } = opened;
    const reservation = await limiter.reserve(PAIR, ADA, { cost: { tokens: 4_000 } });
    expect(await left(...PAIR)).toEqual([19, 86_000]);
    expect(await reservation.settle({ tokens: 240 })).toMatchObject({
      settledBy: 'store',
      policies: [
        { policy: 'requests', refunded: 0, charged: 0 },
        { policy: 'tokens', refunded: 3_760, charged: 0 },
      ],
    });
    expect(await left(...PAIR)).toEqual([19, 89_760]);
    const all = ['requests', 'tokens', 'images'] as const;
    expect(chargedBy(await limiter.consume(all, ADA, { cost: { tokens: 10, requests: 0 } }))).toEqual([
      { policy: 'tokens', cost: 10 },
      { policy: 'images', cost: 2 },
    ]);
    expect(await left(...all)).toEqual([19, 89_750, 48]);
    // A number settles all of them, and an empty object none.
    await (await limiter.reserve(PAIR, ADA, { cost: { tokens: 750 } })).settle(3);
    await (await limiter.reserve(PAIR, ADA, { cost: { tokens: 47 } })).settle({});
    expect(await left(...PAIR)).toEqual([15, 89_700]);
    await (await limiter.reserve(PAIR, ADA, { cost: { tokens: 700 } })).cancel();
    expect(await left(...PAIR)).toEqual([15, 89_700]);
  });

  it('charges none of the policies if one of them rejects', async () => {
    await using opened = await open(options());
    const { limiter, left } = opened;
    for (const cost of [{ tokens: 90_001 }, { requests: 21, tokens: 5 }]) {
      expect(await limiter.consume(PAIR, ADA, { cost })).toMatchObject({ allowed: false });
    }
    expect(await left(...PAIR)).toEqual([20, 90_000]);
  });

  it('is read anew with each call, also of an object that the caller keeps', async () => {
    await using opened = await open(options());
    const { limiter, left } = opened;
    const cost: Partial<Record<Name, number>> = {};
    for (const tokens of [10, 10, 500, 10]) {
      cost.tokens = tokens;
      expect(chargedBy(await limiter.consume(PAIR, ADA, { cost }))[1]).toEqual({ policy: 'tokens', cost: tokens });
    }
    cost.requests = 2;
    await limiter.consume(PAIR, ADA, { cost });
    delete cost.requests;
    await limiter.consume(PAIR, ADA, { cost });
    expect(await left(...PAIR)).toEqual([20 - 7, 90_000 - 550]);
  });

  it('works beside shadows, classes, plans and leases', async () => {
    await using opened = await open(options());
    const { limiter, left } = opened;
    await limiter.consume(['requests', 'watched'], ADA, { cost: { watched: 30 } });
    const low = { cost: { classed: 3 }, priority: 'low' };
    const classed = [];
    for (let i = 0; i < 2; i++) classed.push((await limiter.consume(['requests', 'classed'], ADA, low)).allowed);
    expect(classed).toEqual([true, false]);
    await limiter.consume(['requests', 'planned'], ADA, { cost: { planned: 40 }, plan: 'pro' });
    expect(await left('requests', 'watched', 'classed', 'planned')).toEqual([17, 70, 7, 60]);
    const lease = await limiter.acquire(['slots', 'tokens'], ADA, { cost: { slots: 3 } });
    expect(await left('slots', 'tokens')).toEqual([1, 89_999]);
    expect((await limiter.acquire('slots', ADA, { cost: { slots: 2 } })).allowed).toBe(false);
    lease.release();
  });
});

it('is taken from prefetched tokens, in Redis', async () => {
  const ahead: Policy = {
    name: 'ahead',
    algorithm: 'token-bucket',
    capacity: 1_000,
    refill: '1/d',
    prefetch: { for: '1s', max: 400 },
  };
  await using opened = await open({ redis: redis.server.url });
  const { limiter, left } = opened;
  let admitted = 0;
  for (let i = 0; i < 8; i++) {
    if ((await limiter.consume(['images', ahead], ADA, { cost: { ahead: 150 } })).allowed) admitted++;
  }
  // The last prefetch may hold less than a cost.
  expect([5, 6]).toContain(admitted);
  expect(await left('images')).toEqual([50 - 2 * admitted]);
});

describe('a scheduled call with a cost by name', () => {
  it('reserves an estimate, and settles what its result names', async () => {
    await using opened = await open({ store: new MemoryStore() });
    const { limiter, left } = opened;
    const names = ['requests', 'tokens', 'slots'] as const;
    const seen: unknown[] = [];
    const work = async (): Promise<{ usage: number }> => {
      seen.push(await left(...names));
      return { usage: 240 };
    };
    await limiter.schedule(names, ADA, work, {
      estimate: { tokens: 4_000, slots: 2 },
      cost: ({ usage }) => ({ tokens: usage }),
    });
    await turns();
    expect([...seen, await left(...names)]).toEqual([
      [19, 86_000, 2],
      [19, 89_760, 4],
    ]);
    await limiter.schedule(PAIR, ADA, () => 1, { cost: { tokens: 60 } });
    expect(await left(...PAIR)).toEqual([18, 89_700]);
    // The policy's own settle is not asked where the call has a function.
    await limiter.schedule(['settled', 'tokens'], ADA, () => 1, {
      cost: async () => ({ tokens: 0 }),
      estimate: { tokens: 9 },
    });
    await turns();
    expect(await left('settled', 'tokens')).toEqual([900, 89_700]);
  });

  it('keeps its estimate where the function names another policy, and says so', async () => {
    const warnings: string[] = [];
    const logger = { log: () => undefined, warn: (text: string) => void warnings.push(text), error: () => undefined };
    await using opened = await open({ store: new MemoryStore(), logger });
    const { limiter, left } = opened;
    await limiter.schedule([...PAIR, 'slots'], ADA, () => 1, { cost: () => ({ slots: 1 }), estimate: { tokens: 50 } });
    await turns();
    expect(await left(...PAIR)).toEqual([19, 89_950]);
    expect(warnings.join()).toContain("the cost of the result names 'slots', which is no policy of the call");
    expect(limiter.stats().functionFailures.settle).toBe(1);
  });

  it('is what limitedFetch gives each request', async () => {
    await using opened = await open({ store: new MemoryStore() });
    const { limiter, left } = opened;
    const model = limitedFetch(limiter, PAIR, {
      identity: ADA,
      estimate: { tokens: 500 },
      cost: async (response) => ({ tokens: Number(response.headers.get('tokens')) }),
      fetch: async () => new Response('', { headers: { tokens: '30' } }),
    });
    await model('https://model.example');
    await turns();
    expect(await left(...PAIR)).toEqual([19, 89_970]);
  });
});

it('expires as any reservation, and a late settlement counts what is not named as it was reserved', async () => {
  const clock = new VirtualClock();
  await using opened = await open({ store: new VirtualStore(clock) });
  const { limiter, left } = opened;
  const reservations = [];
  for (const atExpiry of ['cancel', 'keep', 1] as const) {
    reservations.push(await limiter.reserve(PAIR, ADA, { cost: { tokens: 100 }, expires: '1m', atExpiry }));
  }
  const inTime = await limiter.reserve(PAIR, ADA, { cost: { tokens: 1_000 }, expires: '1m' });
  await inTime.settle({ tokens: 7 });
  expect(await left(...PAIR)).toEqual([16, 89_693]);
  clock.advance('1m');
  await turns();
  expect(await left(...PAIR)).toEqual([17, 89_892]);
  expect(await reservations[0]!.settle({ tokens: 60 })).toMatchObject({
    expired: true,
    policies: [{ charged: 1 }, { charged: 60 }],
  });
  expect(await left(...PAIR)).toEqual([16, 89_832]);
  await expect(limiter.reserve(PAIR, ADA, { cost: { tokens: 100 }, expires: '1m', atExpiry: 50 })).rejects.toThrow(
    "atExpiry must be at most the reserved cost, which is 1 for policy 'requests', got 50",
  );
});

describe('a wrong cost by name', () => {
  const TOKNS = { cost: { requests: 3, tokns: 5 } };
  const UNKNOWN =
    "the cost names 'tokns', which is no policy of the call. Did you mean 'tokens'? Its policies are 'requests', 'tokens'";

  it.each<[string, string, (limiter: RateLimiter) => unknown]>([
    ['consume', UNKNOWN, (limiter) => limiter.consume(PAIR, ADA, TOKNS)],
    ['consumeSync', UNKNOWN, async (limiter) => limiter.consumeSync(PAIR, ADA, TOKNS)],
    ['reserve', UNKNOWN, (limiter) => limiter.reserve(PAIR, ADA, TOKNS)],
    ['schedule', UNKNOWN, (limiter) => limiter.schedule(PAIR, ADA, () => 1, TOKNS)],
    ['schedule', UNKNOWN, (limiter) => limiter.schedule(PAIR, ADA, () => 1, { estimate: TOKNS.cost, cost: () => 1 })],
    ['acquire', "names 'tokens', which", (limiter) => limiter.acquire(['slots'], ADA, { cost: { tokens: 1 } })],
    [
      'consume',
      "the cost of policy 'tokens' must be a whole number from 0, got -1",
      (limiter) => limiter.consume(PAIR, ADA, { cost: { tokens: -1 } }),
    ],
    [
      'reserve',
      "the cost of policy 'tokens' must be a whole number from 0, got null",
      (limiter) => limiter.reserve(PAIR, ADA, { cost: { tokens: null as never } }),
    ],
    [
      'reserve',
      "the cost of policy 'requests' must be a whole number from 0, got an array",
      (limiter) => limiter.reserve(PAIR, ADA, { cost: [1, 2] as never }),
    ],
    [
      'schedule',
      "the cost of policy 'tokens' must be a whole number from 1, got 0",
      (limiter) => limiter.schedule(PAIR, ADA, () => 1, { cost: { tokens: 0 } }),
    ],
    [
      'acquire',
      'cost must be a whole number from 1, got 0',
      (limiter) => limiter.acquire(['slots', 'tokens'], ADA, { cost: { slots: 0 } }),
    ],
  ])('of %s is told before anything is charged: %s', async (method, message, call) => {
    await using opened = await open({ store: new MemoryStore() });
    const { limiter, left } = opened;
    const error: unknown = await (async () => call(limiter))().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'RateLimitConfigError' });
    expect((error as Error).message).toContain(`RateLimiter.${method}: `);
    expect((error as Error).message).toContain(message);
    expect(await left(...PAIR, 'slots')).toEqual([20, 90_000, 4]);
  });

  it('of a settlement changes nothing, and the reservation stays open', async () => {
    await using opened = await open({ store: new MemoryStore() });
    const { limiter, left } = opened;
    const reservation = await limiter.reserve(PAIR, ADA, { cost: { tokens: 40 } });
    await expect(reservation.settle({ requests: 0, tokns: 2 })).rejects.toMatchObject({
      code: 'FG_UNKNOWN_POLICY',
      message: expect.stringContaining(
        "Reservation.settle: the final cost names 'tokns', which is no policy of the call. Did you mean 'tokens'?",
      ),
    });
    await expect(reservation.settle({ tokens: 0.5 })).rejects.toThrow(
      "the final cost of policy 'tokens' must be a whole number from 0, got 0.5",
    );
    expect(await left(...PAIR)).toEqual([19, 89_960]);
    await reservation.settle({ tokens: 2 });
    expect(await left(...PAIR)).toEqual([19, 89_998]);
  });
});
