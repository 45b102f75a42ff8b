import { readFileSync } from 'node:fs';

/**
 * One request and what is right: microseconds since the vector's start, cost, limit, whether it is allowed, what remains, the
 * microseconds until all is free and until the cost would fit (null: never), and how long an allowed request has to wait.
 */
export type Step = readonly [
  at: number,
  cost: number,
  limit: number,
  allowed: boolean,
  remaining: number,
  resetAfter: number,
  retryAfter: number | null,
  delay: number,
];

/** Requests of one key, in their order. */
export interface Vector {
  readonly name: string;
  /** Microseconds since 1970. */
  readonly start: number;
  /** The window of an algorithm that has one, or the lease: microseconds. */
  readonly window?: number;
  /** The rate of a bucket. */
  readonly tokens?: number;
  readonly microseconds?: number;
  readonly steps: readonly Step[];
}

export const ALGORITHMS = [
  'token-bucket',
  'leaky-bucket',
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
  'concurrency',
] as const;

export type AlgorithmName = (typeof ALGORITHMS)[number];

/** The file of an algorithm's vectors. */
export function fileOf(algorithm: AlgorithmName): URL {
  return new URL(`${algorithm}.json`, import.meta.url);
}

/** The committed vectors of an algorithm. */
export function vectorsOf(algorithm: AlgorithmName): readonly Vector[] {
  return JSON.parse(readFileSync(fileOf(algorithm), 'utf8')) as Vector[];
}
