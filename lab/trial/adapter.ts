import type { PromiseName } from './promises/titles.js';

/** A limit: so many requests, or units of cost, in a window. */
export interface Limit {
  readonly limit: number;
  readonly windowMs: number;
}

/** What a limiter is opened with. */
export interface Settings extends Limit {
  readonly redisUrl: string;
  /** The limit above, or several limits that each request has to keep. */
  readonly limits: readonly Limit[];
}

/** What a limiter says to a request. */
export interface Answer {
  readonly allowed: boolean;
  /** After a rejection. */
  readonly retryAfterMs?: number | null | undefined;
}

/** A limiter that is open. */
export interface Limiter {
  /** @throws {Error} when the limiter cannot decide, or does not take the cost */
  consume(key: string, cost: number): Answer | Promise<Answer>;
}

/**
 * What the limiter counts, from which follows the most that it may admit:
 * - `log`: the limit in every interval as long as the window
 * - `window`: the limit in each window, whether aligned to the clock or begun by a request
 * - `counter`: the limit of the window and a part of the one before it
 * - `bucket`: a burst of the limit, which is refilled within a window
 */
export type Definition = 'log' | 'window' | 'counter' | 'bucket';

/** A limiter on trial: the default export of a module. */
export interface Adapter {
  readonly name: string;
  /** The npm packages whose versions the results name. */
  readonly packages: readonly string[];
  readonly definition: Definition;
  /** How it is set up where the documentation leaves a choice, and what a reader of the results has to know. */
  readonly note?: string;
  /** The shortest window that the limiter counts well; default 1 s. */
  readonly windowMs?: number;
  /** The unit in which it gives `retryAfterMs`; default 1 ms. */
  readonly retryAfterUnitMs?: number;
  /** What its documentation promises, by the words that do. All else is tried, but never called broken. */
  readonly offers: Readonly<Partial<Record<PromiseName, string>>>;
  /** What cannot be tried, because the limiter has no such thing. */
  readonly lacks?: readonly PromiseName[];
  /** Opens the limiter, in each of its processes. It ends with the process. */
  readonly create: (settings: Settings) => Limiter | Promise<Limiter>;
}
