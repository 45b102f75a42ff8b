import * as fc from 'fast-check';
import { expect, it } from '@jest/globals';
import { blockOf } from '../../libs/floodgate/src/policy/block-for.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';

const NOW = 1_719_360_000_000_000;
const SECOND = 1_000_000;

const redis = useRedis();
let turns = 0;

/** A charge of any shape, whatever makes sense of it. */
const shape = fc.record({
  algorithm: fc.constantFrom(...ALL_ALGORITHMS, 'renewal' as const),
  identity: fc.nat({ max: 2 }),
  cost: fc.nat({ max: 3 }),
  headroom: fc.nat({ max: 2 }),
  mode: fc.constantFrom('take' as const, 'peek' as const, 'reserve' as const),
  shadow: fc.boolean(),
  alternative: fc.boolean(),
  shortfall: fc.boolean(),
  blocks: fc.boolean(),
});

const algorithms = new Map(ALL_ALGORITHMS.map((name) => [name, algorithmOf(SMALL_POLICIES[name])]));
const renewal = algorithms.get('concurrency')!.lease!.renewal(NOW + SECOND);
const block = blockOf({}, [SECOND], 1, () => {
  throw new Error('a block is wrong');
})!;

function chargeOf(given: typeof shape extends fc.Arbitrary<infer T> ? T : never, place: number, turn: number): Charge {
  const { algorithm, identity, blocks, ...rest } = given;
  const key = `any:${turn}:{${identity}}:${algorithm === 'renewal' ? 'concurrency' : algorithm}:${place}`;
  return {
    ...rest,
    key,
    algorithm: algorithm === 'renewal' ? renewal : algorithms.get(algorithm)!,
    block: blocks ? { key: `${key}!`, algorithm: block, cost: 1, shadow: rest.shadow } : undefined,
  };
}

it(
  'a request of any charges is decided beside others, which are decided as if they were alone',
  async () => {
    const requests = fc.array(fc.array(shape, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 });
    const healthy = algorithmOf({ algorithm: 'fixed-window', limit: 3, window: '1d' });
    await fc.assert(
      fc.asyncProperty(requests, async (given) => {
        const turn = turns++;
        const clock = (): number => NOW;
        const store = new RedisStore(redis.client, { clock, maxSkew: 0 });
        const memory = new MemoryStore({ clock });
        const other: Charge = { key: `any:${turn}:healthy`, algorithm: healthy, cost: 1 };
        const asked = given.flatMap((shapes) => [[other], shapes.map((one, place) => chargeOf(one, place, turn))]);
        const answers = await Promise.all(asked.map(async (charges) => store.consume(charges)));
        const allowed = (verdicts: readonly Verdict[]): boolean[] =>
          verdicts.filter((_, i) => i % 2 === 0).map((verdict) => verdict.allowed);
        expect(allowed(answers)).toEqual(allowed(asked.map((charges) => memory.consume(charges))));
      }),
      histories(2),
    );
  },
  HISTORY_TIMEOUT_MS,
);
