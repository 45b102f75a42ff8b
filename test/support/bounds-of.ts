import type { Algorithm, AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import {
  type Admission,
  costByFirstRequest,
  costByWindow,
  mostWithin,
  worstExcess,
} from '../../lab/textbook/bounds.js';
import { FirstRequestWindows } from '../../libs/floodgate/src/algorithms/fixed-window/fixed-window.js';
import { rateOf, windowOf } from './algorithm-of.js';
import { expectHolds } from './expect-same.js';

/** An admitted request of one key, in microseconds. */
export interface Admitted extends Required<Admission> {
  readonly delay: number;
}

/** Fails unless what was admitted, in its order, keeps to a limit, and to the part of the rate that one of so many processes has. */
type Bound = (admitted: readonly Admitted[], whole: Algorithm, limit: number, processes: bigint) => void;

/** In any interval of length t: the limit (of a queue: and the one that departs), and rate x t. */
const withinRate =
  (departing: number): Bound =>
  (admitted, whole, limit, processes) => {
    const { tokens, microseconds } = rateOf(whole);
    const excess = worstExcess(admitted, limit + departing, { tokens, microseconds: microseconds * processes });
    expectHolds(excess <= 0, () => ({ excess }));
  };

/** No two slots closer than the rate, and never in another order. */
const slotsApart: Bound = (admitted, whole, _, processes) => {
  const { tokens, microseconds } = rateOf(whole);
  for (const [i, next] of admitted.slice(1).entries()) {
    const one = admitted[i]!;
    const apart = BigInt(next.at + next.delay - one.at - one.delay) + 1n; // each is rounded up to a microsecond
    expectHolds(apart * tokens > BigInt(one.cost) * microseconds * processes, () => ({ one, next }));
  }
};

/** In every interval as long as the window. */
const withinWindow: Bound = (admitted, whole, limit) => {
  const most = mostWithin(admitted, windowOf(whole));
  expectHolds(most <= limit, () => ({ most }));
};

/** What each algorithm promises. */
export const BOUNDS: Readonly<Record<AlgorithmName, Bound>> = {
  'token-bucket': withinRate(0),
  'leaky-bucket': (...given) => {
    withinRate(1)(...given);
    slotsApart(...given);
  },
  'fixed-window': (admitted, whole, limit) => {
    const costsOf = whole instanceof FirstRequestWindows ? costByFirstRequest : costByWindow;
    for (const [number, cost] of costsOf(admitted, windowOf(whole)))
      expectHolds(cost <= limit, () => ({ number, cost }));
  },
  'sliding-window-log': withinWindow,
  // Leases that nobody releases.
  concurrency: withinWindow,
  'sliding-window-counter': (admitted, whole, limit) => {
    const window = windowOf(whole);
    const most = mostWithin(admitted, window);
    expectHolds(most <= Math.max(0, 2 * limit - 1), () => ({ most }));
    for (const [i, last] of admitted.entries()) {
      const costs = costByWindow(admitted.slice(0, i + 1), window);
      const number = Math.floor(last.at / window);
      const weighted = BigInt(costs.get(number - 1) ?? 0) * BigInt(window - (last.at % window));
      expectHolds(weighted <= BigInt(limit - costs.get(number)!) * BigInt(window), () => ({ last, costs }));
    }
  },
};
