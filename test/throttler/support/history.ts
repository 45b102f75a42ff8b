import * as fc from 'fast-check';

/** One request to a throttler, `after` milliseconds after the one before. */
export interface Hit {
  readonly after: number;
  readonly client: number;
}

/** A throttler and what clients send to it. */
export interface History {
  readonly limit: number;
  readonly ttl: number;
  /** Undefined: the default, which is the `ttl`. */
  readonly blockDuration: number | undefined;
  readonly hits: readonly Hit[];
}

/** Steps at and around the edges of a period, a block and a sweep, and bursts between them. */
function steps(ttl: number, block: number): fc.Arbitrary<number> {
  const edges = [0, 1, 999, 1000, 1001, ttl - 1, ttl, ttl + 1, block - 1, block, block + 1];
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.constantFrom(...edges.filter((edge) => edge >= 0)) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 2 * Math.max(ttl, block) }) },
  );
}

/** Random histories with limits from 1, and blocks that are shorter than, equal to and longer than the `ttl`. */
export const histories: fc.Arbitrary<History> = fc
  .record({
    limit: fc.integer({ min: 1, max: 5 }),
    ttl: fc.integer({ min: 1001, max: 20_000 }),
    block: fc.oneof(fc.constant(undefined), fc.constant(0), fc.integer({ min: 1000, max: 40_000 })),
  })
  .chain(({ limit, ttl, block }) =>
    fc.record({
      limit: fc.constant(limit),
      ttl: fc.constant(ttl),
      blockDuration: fc.constant(block),
      hits: fc.array(fc.record({ after: steps(ttl, block ?? ttl), client: fc.integer({ min: 0, max: 1 }) }), {
        minLength: 1,
        maxLength: 60,
      }),
    }),
  );
