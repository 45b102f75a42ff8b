import { type Algorithm, isWhole } from './core/algorithm.js';
import { CONCURRENCY } from './concurrency/concurrency.js';
import { FIXED_WINDOW } from './fixed-window/fixed-window.js';
import { LEAKY_BUCKET } from './leaky-bucket/leaky-bucket.js';
import { type AlgorithmDefinition, MAX_COUNT } from './core/options.js';
import { SLIDING_WINDOW_COUNTER } from './sliding-window-counter/sliding-window-counter.js';
import { SLIDING_WINDOW_LOG } from './sliding-window-log/sliding-window-log.js';
import { TOKEN_BUCKET } from './token-bucket/token-bucket.js';

export type { AlgorithmDefinition, OptionReader } from './core/options.js';

/** Every algorithm. Each of them is also a file of its name in `lua/algorithms/`, which the Lua program finds by itself. */
const ALGORITHMS = [
  TOKEN_BUCKET,
  LEAKY_BUCKET,
  FIXED_WINDOW,
  SLIDING_WINDOW_LOG,
  SLIDING_WINDOW_COUNTER,
  CONCURRENCY,
] as const satisfies readonly AlgorithmDefinition[];

/** The algorithms, by the names that policies use. */
export type AlgorithmName = (typeof ALGORITHMS)[number]['name'];

export const ALGORITHM_NAMES: readonly AlgorithmName[] = ALGORITHMS.map(({ name }) => name);

const BY_NAME: ReadonlyMap<unknown, AlgorithmDefinition> = new Map(
  ALGORITHMS.map((definition) => [definition.name, definition]),
);

/** The definition of the algorithm with this name; undefined if there is none. */
export function algorithmEntry(name: unknown): AlgorithmDefinition | undefined {
  return BY_NAME.get(name);
}

/**
 * Makes an algorithm from its name, limit and rate, as a process has written them; undefined for what no process can have written.
 */
export function algorithmOfRate(name: unknown, limit: unknown, rate: unknown): Algorithm | undefined {
  if (typeof rate !== 'string' || !isWhole(limit, 1, MAX_COUNT)) return undefined;
  const made = algorithmEntry(name)?.ofRate?.(limit as number, rate);
  return made?.rate === rate && made.limit === limit ? made : undefined;
}
