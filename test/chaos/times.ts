import { overlap, type Span, union, without } from './clock.js';
import type { Decided } from './history.js';
import type { FaultKind } from './plan.js';
import { DEADLINE_MS } from './policies.js';
import type { Injury } from './run/perform.js';
import type { Turn } from './run/redis.js';

/**
 * Within which Redis has to decide again, once nothing keeps it. The longest way is that of a connection that a network has
 * lost: a missed deadline, five of them until the connection is given up, or a second until the next one is tried, and 400 ms
 * until the next probe.
 */
export const RECOVERY_MS = 2000;

/** Faults after which Redis decides on, as long as nothing else is wrong. */
const HARMLESS: readonly FaultKind[] = [
  'keys flushed',
  'scripts flushed',
  'redis clock jumps',
  'latency below the deadline',
  'process computes',
  'process computes for seconds',
  'process computes again and again',
  'handlers compute',
  'process stopped',
  'process restarted',
  'process killed',
  'clock of the process jumps',
  'localShare changes',
  'burst over many connections',
  'requests reset after sending',
  'requests half sent',
];
/** Faults under which Redis becomes usable again before they end: they excuse a fixed time, not their duration. */
const BRIEF: readonly FaultKind[] = ['first answer late', 'lookups slow'];

/** When a pod may go without Redis. */
export interface Outages {
  /** While a fault kept Redis from it, sorted and joined. */
  readonly faults: readonly Span[];
  /** These, with the time to recover, and the times at which the machine was too busy to tell. */
  readonly excused: readonly Span[];
}

/**
 * @param slow when the machine was too busy to tell, sorted
 * @param stalls of the pod's processes, sorted: while a process stands still it cannot recover
 */
export function outagesOf(
  pod: number,
  injuries: readonly Injury[],
  slow: readonly Span[],
  stalls: readonly Span[],
): Outages {
  const faults = injuries
    .filter(({ fault }) => !HARMLESS.includes(fault.kind) && (fault.pod === undefined || fault.pod === pod))
    .map(({ fault, from, to }) => ({ from, to: BRIEF.includes(fault.kind) ? from + fault.amount : to }));
  // A delay above the deadline may keep the library from Redis for a while; a shorter one costs a few calls.
  // While the process stood still, it missed no deadline.
  const busy = without(slow, stalls).map(({ from, to }) => ({
    from: from - DEADLINE_MS,
    to: to + (to - from < DEADLINE_MS ? DEADLINE_MS : RECOVERY_MS),
  }));
  const recovering = faults.map(({ from, to }) => ({ from, to: awakeAfter(to, RECOVERY_MS, stalls) }));
  return { faults: union(faults), excused: union([...recovering, ...busy]) };
}

/** When a process that stood still meanwhile has been awake for so long. */
function awakeAfter(from: number, ms: number, stalls: readonly Span[]): number {
  let to = from + ms;
  for (;;) {
    const awake = to - from - overlap(stalls, { from, to });
    if (awake >= ms - 1) return to;
    to += ms - awake;
  }
}

/** A time in which Redis had the same keys and the same offset of its clock. */
export interface Epoch extends Span {
  readonly aheadMs: number;
  /** Microseconds of Redis's clock before which nothing of it was decided, and after which nothing. */
  readonly first: number;
  last: number;
  /** Since how many losses of the keys. */
  readonly losses: number;
}

/** The epochs of a run that began at `from`. */
export function epochsOf(turns: readonly Turn[], from: number): readonly Epoch[] {
  const epochs: (Epoch & { to: number })[] = [
    { from, to: Infinity, aheadMs: 0, first: -Infinity, last: Infinity, losses: 0 },
  ];
  for (const turn of turns) {
    const before = epochs.at(-1)!;
    before.to = turn.to;
    before.last = turn.at ?? Infinity;
    const losses = before.losses + Number(turn.kind === 'keys lost');
    epochs.push({
      from: turn.from,
      to: Infinity,
      aheadMs: turn.aheadMs,
      first: turn.at ?? -Infinity,
      last: Infinity,
      losses,
    });
  }
  return epochs;
}

/** The tolerance between the two clocks: one is read a moment after the other. */
const SLACK_MS = 3;

/** When Redis decided, by the machine's clock. */
export function decidedAt({ at }: Pick<Decided, 'at'>, { aheadMs }: Epoch, wallAheadMs: number): number {
  return at / 1000 - aheadMs - wallAheadMs;
}

/** In which epoch Redis decided: where its instant lies within the question's life, as it must in one. */
export function epochOf(decided: Decided, epochs: readonly Epoch[], wallAheadMs: number): Epoch | undefined {
  return epochs.find((epoch) => {
    const at = decidedAt(decided, epoch, wallAheadMs);
    return (
      at >= Math.max(decided.request.askedAt, epoch.from) - SLACK_MS &&
      at <= Math.min(decided.decidedAt, epoch.to) + SLACK_MS &&
      decided.at >= epoch.first &&
      decided.at <= epoch.last
    );
  });
}
