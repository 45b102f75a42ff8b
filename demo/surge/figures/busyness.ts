import { CASES, type CaseName } from '../cases.js';
import type { CaseFigures } from './figures.js';

/**
 * The load of the machine up to which the figures of a case can be trusted.
 *
 * A quiet machine with two cores stays well below all three.
 */
export const TRUSTED = {
  /** p99 of how late the load generator sends a request. Its riders cannot see delays below that. */
  lateP99Ms: 25,
  /** The busy share of the load generator's event loop, 0 to 1. */
  eventLoop: 0.7,
  /** CPU of processes that are not part of the surge, as a share of all cores. */
  othersCpu: 0.25,
} as const;

/** A case that ran on a machine that was too busy. */
export interface Busyness {
  readonly case: CaseName;
  /** Milliseconds. */
  readonly lateP99Ms: number;
  /** 0 to 1. */
  readonly eventLoop: number;
  /** In cores. */
  readonly othersCpu: number;
}

/** Which cases to distrust, and by which measure. */
export function busynessOf(results: Readonly<Record<CaseName, CaseFigures>>, cores: number): Busyness[] {
  return CASES.map(({ name }) => {
    const { generator, othersCpu } = results[name];
    return { case: name, lateP99Ms: generator.lateP99Ms, eventLoop: generator.eventLoop, othersCpu };
  }).filter(
    ({ lateP99Ms, eventLoop, othersCpu }) =>
      lateP99Ms > TRUSTED.lateP99Ms || eventLoop > TRUSTED.eventLoop || othersCpu > TRUSTED.othersCpu * cores,
  );
}
