import * as fc from 'fast-check';
import type { AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import type { Charge } from '../../libs/floodgate/src/stores/store.js';
import { headroomIn } from '../../libs/floodgate/src/policy/priorities.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { anywhere, type Move, starts } from '../support/arbitrary-instants.js';
import { costFor, type Cost, costs, parts, type Versions, versionsOf } from '../support/arbitrary-policies.js';

/** One charge of a request: the place of its policy in the history, the policy's version, the identity, the cost and the class. */
interface AskedCharge {
  readonly policy: number;
  readonly version: number;
  readonly identity: number;
  readonly cost: Cost;
  /** The part of the limit that its class may fill. */
  readonly part: number;
}

/** The requests of one turn of the event loop, as places in the history's pool; some are repeated. */
interface Turn {
  readonly move: Move;
  readonly requests: readonly { readonly request: number; readonly times: number }[];
}

/** A store's input: turns with requests of several policies, which may share keys. */
export interface History {
  readonly start: number;
  readonly maxSkewMs: number;
  readonly policies: readonly Versions[];
  readonly pool: readonly (readonly AskedCharge[])[];
  readonly turns: readonly Turn[];
}

const SKEWS = [0, 0, 0.25, 100, 1_000, 10_000];

/** A small pool repeats requests, both next to each other and with other requests on their keys between them. */
const turn: fc.Arbitrary<Turn> = fc.record({
  move: anywhere,
  requests: fc.array(
    fc.record({
      request: fc.nat({ max: 4 }),
      times: fc.oneof(
        { weight: 3, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.integer({ min: 2, max: 6 }) },
      ),
    }),
    { minLength: 1, maxLength: 6 },
  ),
});

/** Histories whose first policy has the algorithm `name`. */
export function historiesOf(name: AlgorithmName): fc.Arbitrary<History> {
  const others = fc.constantFrom(...ALL_ALGORITHMS).chain(versionsOf);
  const policies = fc
    .tuple(versionsOf(name), fc.array(others, { maxLength: 2 }))
    .map(([first, rest]) => [first, ...rest]);
  const charge = fc.record({
    policy: fc.constantFrom(0, 0, 1, 2),
    version: fc.nat({ max: 1 }),
    identity: fc.constantFrom(0, 0, 0, 1),
    cost: costs,
    part: parts,
  });
  return fc.record({
    start: starts,
    maxSkewMs: fc.constantFrom(...SKEWS),
    policies,
    pool: fc.array(fc.array(charge, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 }),
    turns: fc.array(turn, { minLength: 1, maxLength: 8 }),
  });
}

/** The history's pool as charges. The keys of a request are distinct, as a store requires. */
export function chargesOf({ policies, pool }: Pick<History, 'policies' | 'pool'>, prefix: string): Charge[][] {
  const versions = policies.map((policy) => policy.map(algorithmOf));
  return pool.map((asked) => {
    const charges = new Map<string, Charge>();
    for (const { policy, version, identity, cost, part } of asked) {
      const place = policy % versions.length;
      const algorithm = versions[place]![version] ?? versions[place]![0]!;
      const key = `${prefix}:${place}:${identity}`;
      if (charges.has(key)) continue;
      const headroom = headroomIn(algorithm, part);
      charges.set(key, { key, algorithm, cost: costFor(algorithm, cost), headroom });
    }
    return [...charges.values()];
  });
}

/** The requests of one turn, in their order. */
export function requestsOf({ requests }: Turn, pool: readonly Charge[][]): readonly Charge[][] {
  return requests.flatMap(({ request, times }) => Array<Charge[]>(times).fill(pool[request % pool.length]!));
}
