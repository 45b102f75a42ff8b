import type { PolicyExplanation } from './explanation.js';

/** A policy's explanation, and the instant of its answer in milliseconds. */
export interface Explained {
  readonly keyTail: string;
  readonly at: number;
  readonly explained: PolicyExplanation;
}

/** Whether a request goes on to what the policy's `else` names. A block is no lack of room. */
export function runsOver({ explained }: Explained): boolean {
  return explained.outcome === 'rejected';
}

/**
 * The explanations of the policies that a request meets one behind the other. It passes if the last of them takes it, else as soon
 * as one of them has room.
 */
export function asRow(row: readonly Explained[]): readonly Explained[] {
  const isRejected = row.at(-1)!.explained.isRejected;
  const [soonest = null] = row.flatMap(({ explained }) => explained.passesAt ?? []).toSorted();
  return row.map(({ explained, ...one }) => {
    if (isRejected) return { ...one, explained: { ...explained, passesAt: soonest } };
    if (!explained.isRejected) return { ...one, explained };
    return { ...one, explained: { ...explained, outcome: 'runs-over', isRejected: false } };
  });
}

/** Each policy once: one that another policy runs over to as it stands behind that one, and not alone as well. */
export function eachOnce(found: readonly Explained[]): readonly Explained[] {
  const once = new Map<string, Explained>();
  for (const one of found) {
    const known = once.get(one.keyTail);
    const isFirstOfRow = known?.explained.insteadOf === null && one.explained.insteadOf !== null;
    if (known === undefined || isFirstOfRow) once.set(one.keyTail, one);
  }
  return [...once.values()];
}
