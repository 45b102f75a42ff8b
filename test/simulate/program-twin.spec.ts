import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { TOKEN_BUCKET } from '../../libs/floodgate/src/algorithms/token-bucket/token-bucket.js';
import { LEAN, PROGRAM } from '../../libs/floodgate/src/stores/redis/batch/programs.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { RedisClient } from '../../libs/floodgate/src/stores/redis/clients/redis-client.js';
import type { Charge, ChargeReceipt, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { Timeline } from '../../libs/floodgate/src/testing/conformance/timeline.js';
import { callOf } from '../../simulate/redis/client.js';
import { LuaRedis } from '../../simulate/redis/lua-redis.js';
import { ProgramTwin } from '../../simulate/redis/program-twin.js';
import type { Call, Executor } from '../../simulate/redis/server.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { HISTORY_TIMEOUT_MS, histories } from '../support/property-runs.js';
import { until } from '../support/faults/until.js';
import { useRedis } from '../support/redis-fixture.js';
import { vectorLaws } from '../support/vector-laws.js';

const NOW = 19_900 * 86_400_000_000 + 123_456;
const redis = useRedis();

/** Microseconds of a prefetch. */
const PREFETCH = 500_000;

/** Small limits, of all algorithms that the twin knows: full and empty states are met often. */
const PLAIN = [
  algorithmOf({ algorithm: 'token-bucket', capacity: 5, refill: 3 }),
  algorithmOf({ algorithm: 'token-bucket', capacity: 7, refill: '100/7s' }),
  algorithmOf({ algorithm: 'leaky-bucket', capacity: 3, drain: '7/s' }),
  algorithmOf({ algorithm: 'fixed-window', limit: 4, window: '1s' }),
  algorithmOf({ algorithm: 'sliding-window-counter', limit: 4, window: '1s' }),
  TOKEN_BUCKET.withPrefetch(algorithmOf({ algorithm: 'token-bucket', capacity: 40, refill: 30 }), PREFETCH),
];
/** All algorithms. */
const ALGORITHMS = [
  ...PLAIN,
  algorithmOf({ algorithm: 'sliding-window-log', limit: 4, window: '1s' }),
  algorithmOf({ algorithm: 'sliding-window-log', limit: 300, window: '3s' }),
  algorithmOf({ algorithm: 'concurrency', limit: 4, lease: '1s' }),
];

const TEXTS = new Map([PROGRAM, ...LEAN.values()].map(({ sha1, text }) => [sha1, text]));

/** A server that knows the programs, as the real one does from earlier tests. */
function knowing(): Executor {
  const server = new LuaRedis();
  return {
    execute: ({ script, ...call }, now) => server.execute({ ...call, script: TEXTS.get(script) ?? script }, now),
  };
}

/** What stands for Redis, and how many of the algorithms it knows. */
const SERVERS: readonly { readonly name: string; readonly make: () => Executor; readonly known: number }[] = [
  { name: 'the twin', make: () => new ProgramTwin(), known: PLAIN.length },
  { name: 'the programs themselves, on the simulated database', make: knowing, known: ALGORITHMS.length },
];

/** A charge of one of two clients: a key belongs to one algorithm, as in a running system. */
const chargeOf = (known: number) =>
  fc.record({
    algorithm: fc.nat(known - 1),
    client: fc.nat(1),
    cost: fc.nat(3),
    mode: fc.constantFrom('take' as const, 'take' as const, 'peek' as const),
    /** Of a server that knows all algorithms: whether the charge never rejects, or stands in for the one before it. */
    apart:
      known === ALGORITHMS.length ? fc.constantFrom({}, {}, { shadow: true }, { alternative: true }) : fc.constant({}),
    /** Of the prefetched bucket: whether the charge prefetches tokens, and what becomes of a prefetch that was granted so long ago. */
    ahead: fc.option(
      fc
        .record({ want: fc.nat(20), ago: fc.nat(3 * PREFETCH), granted: fc.nat(6), used: fc.nat(6) })
        .map(({ granted, used, ...rest }) => ({ ...rest, granted, used: Math.min(granted, used) })),
      { nil: undefined },
    ),
  });
type AskedCharge = ReturnType<typeof chargeOf> extends fc.Arbitrary<infer Value> ? Value : never;
const askedOf = (known: number) =>
  fc.uniqueArray(chargeOf(known), {
    minLength: 1,
    maxLength: 3,
    selector: ({ algorithm, client }) => `${algorithm} ${client}`,
  });
const turnOf = (known: number) =>
  fc.record({
    /** Microseconds since the turn before. A clock may step back. */
    passed: fc.oneof(fc.integer({ min: 0, max: 3_000_000 }), fc.integer({ min: -4_000_000, max: 0 })),
    requests: fc.array(fc.record({ request: askedOf(known), times: fc.integer({ min: 1, max: 4 }) }), {
      minLength: 1,
      maxLength: 6,
    }),
    /** Settlements of the charges of earlier turns, the last of which is number 0: before or behind the requests of their turn. */
    settlements: fc.array(
      fc.record({ of: fc.nat(8), finalCost: fc.nat(5), overdraft: fc.nat(2), first: fc.boolean() }),
      {
        maxLength: 3,
      },
    ),
  });

type Turn = ReturnType<typeof turnOf> extends fc.Arbitrary<infer Value> ? Value : never;
const peeked: AskedCharge = { algorithm: 3, client: 0, cost: 0, mode: 'peek', apart: {}, ahead: undefined };
const askedOnce = (request: AskedCharge) => [{ request: [request], times: 1 }];
/** A charge of 3, which comes to 1. */
const SETTLED: Turn[] = [
  { passed: 0, requests: askedOnce({ ...peeked, cost: 3, mode: 'take' }), settlements: [] },
  { passed: 0, requests: askedOnce(peeked), settlements: [{ of: 0, finalCost: 1, overdraft: 0, first: true }] },
];

/** What a settlement needs of the charges that a request was allowed. */
function receiptsOf(charges: readonly Charge[], { allowed, at, charges: verdicts }: Verdict): ChargeReceipt[] {
  if (!allowed) return [];
  return charges.flatMap(({ key, algorithm, cost, mode, shadow, alternative }, i) => {
    if (shadow === true || alternative === true || charges[i + 1]?.alternative === true) return []; // it may not have been charged
    const resetAt = at + verdicts[i]!.resetAfter;
    return mode === 'take' && cost > 0 ? [{ key, algorithm, cost, at, resetAt }] : [];
  });
}

function chargesOf(request: readonly AskedCharge[], now: number): Charge[] {
  return request.map(({ algorithm: i, client, cost, mode, apart, ahead }) => {
    const plain = ALGORITHMS[i]!;
    const key = `${i}-${client}`;
    const { prefetch } = plain;
    const prefetching =
      ahead &&
      prefetch?.kind === 'granted' &&
      prefetch.charge(ahead.want, { at: now - ahead.ago, granted: ahead.granted, used: ahead.used });
    return prefetching
      ? { key, algorithm: prefetching, cost: 1, mode: 'reserve' }
      : { key, algorithm: plain, cost, mode, ...apart };
  });
}

/** A client of the real server that notes each call of the program and its reply. */
function noting(calls: { readonly call: Call; readonly reply: unknown }[]): RedisClient {
  const { client } = redis;
  return {
    evalsha: async (sha1, keys, ...args) => {
      const reply = await client.evalsha(sha1, keys, ...args);
      calls.push({ call: callOf(sha1, keys, args), reply });
      return reply;
    },
    eval: (script, keys, ...args) => client.eval(script, keys, ...args),
    del: (key) => client.del(key),
  };
}

/** A client whose server is the twin. */
function twinClient(): RedisClient {
  const twin = new ProgramTwin();
  const execute = (script: string, keys: number, ...args: string[]): Promise<unknown> =>
    Promise.resolve(twin.execute(callOf(script, keys, args), NOW).reply);
  return { evalsha: execute, eval: execute, del: () => Promise.resolve(0) };
}

describe('the simulated server', () => {
  it.each(SERVERS)(
    'replies to every call of random histories as the Lua program in Redis does: $name',
    async ({ make, known }) => {
      let settled = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(turnOf(known), { minLength: 1, maxLength: 12 }),
          fc.constantFrom(0, 500),
          async (turns, maxSkewMs) => {
            await redis.client.flushdb();
            const calls: { readonly call: Call; readonly reply: unknown }[] = [];
            let now = NOW;
            const store = new RedisStore(noting(calls), { clock: () => now, maxSkew: maxSkewMs });
            const receipts: ChargeReceipt[] = [];
            for (const { passed, requests, settlements } of turns) {
              now += passed;
              const all = requests.flatMap(({ request, times }) =>
                Array.from({ length: times }, () => chargesOf(request, now)),
              );
              const settle = (first: boolean): Promise<number>[] =>
                settlements.flatMap(({ of, finalCost, overdraft, first: isFirst }) => {
                  const [receipt] = isFirst === first ? receipts.splice(-1 - of, 1) : [];
                  return receipt === undefined
                    ? []
                    : store.settle([{ receipt, finalCost, overdraft }]).then(([done]) => done!.refunded!);
                });
              // All of a turn shares its calls.
              const before = settle(true);
              const asking = all.map((charges) => store.consume(charges));
              const refunded = await Promise.all([...before, ...settle(false)]);
              for (const one of refunded) settled += one;
              const verdicts = await Promise.all(asking);
              receipts.push(...all.flatMap((charges, i) => receiptsOf(charges, verdicts[i]!)));
            }
            const server = make();
            expect(calls.map(({ call }) => server.execute(call, 0).reply)).toEqual(calls.map(({ reply }) => reply));
          },
        ),
        { ...histories(0.2), examples: [[SETTLED, 0]] },
      );
      expect(settled).toBeGreaterThan(0);
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(SERVERS)(
    'replies as Redis does that decides by its own clock, where expired keys are gone: $name',
    async ({ make, known }) => {
      const calls: { readonly call: Call; readonly reply: unknown }[] = [];
      const store = new RedisStore(noting(calls));
      const charges = ALGORITHMS.slice(0, known).map((algorithm, i): Charge[] => [
        { key: `key-${i}`, algorithm, cost: 1 },
      ]);
      for (let i = 0; i < 4; i++) {
        await Promise.all(charges.flatMap((one) => [store.consume(one), store.consume(one)]));
        if (i === 1) await until('the expiry of all states', 20_000, async () => (await redis.client.dbsize()) === 0);
      }
      const server = make();
      const replies = calls.map(({ call, reply }) => server.execute(call, (reply as [number])[0]).reply);
      expect(replies).toEqual(calls.map(({ reply }) => reply));
    },
  );

  it.each(Object.entries(vectorLaws(['token-bucket', 'leaky-bucket', 'fixed-window', 'sliding-window-counter'])))(
    'answers the vectors of %s',
    async (_, law) => {
      const open = (maxSkewMs?: number) => Timeline.open((options) => new RedisStore(twinClient(), options), maxSkewMs);
      await expect(law(open)).resolves.toBeUndefined();
    },
  );

  it.each([
    ['["concurrency",1,1,5,1000]', /plain charges of token-bucket.*got concurrency with 2 numbers/],
    ['["token-bucket",1,1,1,100,500,1]', /got token-bucket with 4 numbers/],
  ])('refuses %s, which it does not know', (policy, message) => {
    const call = { script: '', keys: ['key'], args: ['redis', '0', `[${policy}]`, '\u0001\u0001\u0000\u0001'] };
    expect(() => new ProgramTwin().execute(call, NOW)).toThrow(message);
  });
});
