import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { MemoryStore, RateLimitStoreError, RedisStore } from 'nestjs-floodgate';
import type { Verdict } from 'nestjs-floodgate/testing';
import { ALGORITHM_NAMES } from '../../libs/floodgate/src/algorithms/algorithms.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { policyOrNothingOf } from '../support/arbitrary-policies.js';
import { histories as runs, HISTORY_TIMEOUT_MS, SEED } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';

type Mutation = (reply: unknown[]) => unknown;

const strange = fc.constantFrom<unknown>(
  null,
  undefined,
  '',
  'NaN',
  '12',
  NaN,
  Infinity,
  -5,
  0.5,
  2 ** 53,
  [1],
  {},
  true,
);
const place = fc.nat();

/** Changes after which the reply cannot be the program's. */
const broken: fc.Arbitrary<Mutation> = fc.oneof(
  fc.constantFrom<Mutation>(
    () => 'OK',
    () => null,
    () => [],
    (reply) => reply.slice(1),
    (reply) => reply.slice(0, -1),
    (reply) => [...reply, 0],
    (reply) => [reply],
    (reply) => reply.map(String),
  ),
  fc.tuple(place, strange).map(
    ([at, value]): Mutation =>
      (reply) =>
        reply.with(at % reply.length, value),
  ),
  place.map(
    (at): Mutation =>
      (reply) =>
        reply.toSpliced(at % reply.length, 1),
  ),
);

/** Changes after which the reply may still look like the program's. */
const shifted: fc.Arbitrary<Mutation> = fc.tuple(place, fc.oneof(fc.maxSafeInteger(), fc.nat({ max: 5_000 }))).map(
  ([at, value]): Mutation =>
    (reply) =>
      reply.with(at % reply.length, value),
);

describe('a reply that is changed on its way', () => {
  const redis = useRedis();
  let histories = 0;

  /** Charges some requests, changes the reply to some more, and returns the verdicts and errors of the latter. */
  async function played(
    name: (typeof ALGORITHM_NAMES)[number],
    mutation: Mutation,
    counts: readonly [number, number],
    policy: Parameters<typeof algorithmOf>[0],
  ) {
    let mutate: Mutation | undefined;
    const { client } = redis;
    const changed = (reply: unknown): unknown => (mutate === undefined ? reply : mutate(reply as unknown[]));
    const store = new RedisStore({
      evalsha: async (sha, keys, ...args) => changed(await client.evalsha(sha, keys, ...args)),
      eval: async (program, keys, ...args) => changed(await client.eval(program, keys, ...args)),
      del: (key) => client.del(key),
    });
    const algorithm = algorithmOf(policy);
    const charges = [{ key: `${name}-${SEED}-${histories++}`, algorithm, cost: 1 }];
    const batch = (count: number) => Array.from({ length: count }, () => store.consume(charges));
    await Promise.all(batch(counts[0]));
    mutate = mutation;
    const settled = await Promise.allSettled(batch(counts[1]));
    const verdicts = settled.filter((one) => one.status === 'fulfilled').map(({ value }) => value);
    const errors = settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason as unknown);
    const memory = new MemoryStore();
    const fresh = Array.from({ length: counts[1] }, () => memory.consume(charges)).filter(
      ({ allowed }) => allowed,
    ).length;
    return { verdicts, errors, fresh };
  }

  const counts = fc.tuple(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 8 }));

  const numbersOf = ({ at, charges }: Verdict): number[] => [
    at,
    ...charges.flatMap((one) => [one.remaining, one.resetAfter, one.retryAfter, one.delay]),
  ];

  it.each(ALGORITHM_NAMES)(
    "%s: fails all requests of the batch if it cannot be the program's, and admits at most as many as a fresh state with other numbers",
    async (name) => {
      const mutations = fc.oneof(
        broken.map((mutation) => ({ mutation, isBroken: true })),
        shifted.map((mutation) => ({ mutation, isBroken: false })),
      );
      await fc.assert(
        fc.asyncProperty(policyOrNothingOf(name), mutations, counts, async (policy, { mutation, isBroken }, both) => {
          const { verdicts, errors, fresh } = await played(name, mutation, both, policy);
          expect(verdicts.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(isBroken ? 0 : fresh);
          expect(isBroken ? verdicts : []).toEqual([]);
          expect(verdicts.flatMap(numbersOf).filter((number) => !(number >= 0))).toEqual([]);
          expect(errors.filter((error) => !(error instanceof RateLimitStoreError))).toEqual([]);
        }),
        runs(0.4),
      );
    },
    HISTORY_TIMEOUT_MS,
  );
});
