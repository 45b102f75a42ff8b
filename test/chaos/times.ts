import { overlap, type Span, union, without } from './clock.js';
import type { Decided } from './history.js';
import { type FaultKind, KINDS, type PlannedFault } from './plan.js';
import { DEADLINE_MS } from './policies.js';
import type { Injury } from './run/perform.js';
import type { Turn } from './run/redis.js';

/**
 * The time after a fault within which Redis has to decide again. A lost connection takes longest: the library gives it up after
 * five missed deadlines, or 2 s after it was made, and the next probe follows within 400 ms.
 */
export const RECOVERY_MS = 3000;

/** Parts of the system whose faults do not keep Redis from deciding. */
const APART: readonly string[] = ['pod', 'clients', 'clock'];
/** Other faults that do not. */
const HARMLESS: readonly FaultKind[] = ['keys flushed', 'scripts flushed', 'latency below the deadline'];

/** The times at which a pod may decide without Redis. */
export interface Outages {
  /** The times at which a fault kept Redis from the pod, sorted and joined. */
  readonly faults: readonly Span[];
  /** The times of `faults`, each with the time to recover, and the times at which the machine was too busy. */
  readonly excused: readonly Span[];
}

/**
 * @param slow the times at which the machine was too busy, sorted
 * @param stalls of the pod's processes, sorted: while a process stands still it cannot recover
 */
export function outagesOf(
  pod: number,
  injuries: readonly Injury[],
  slow: readonly Span[],
  stalls: readonly Span[],
): Outages {
  const faults = injuries
    .filter(({ fault }) => keepsRedisAway(fault) && (fault.pod === undefined || fault.pod === pod))
    // A late first answer excuses its delay, not the time until the fault ends.
    .map(({ fault, from, to }) => ({ from, to: fault.kind === 'first answer late' ? from + fault.amount : to }));
  // A delay above the deadline may keep the library from Redis for a while; a shorter one costs a few calls.
  // While the process stood still, it missed no deadline.
  const busy = without(slow, stalls).map(({ from, to }) => ({
    from: from - DEADLINE_MS,
    to: to + (to - from < DEADLINE_MS ? DEADLINE_MS : RECOVERY_MS),
  }));
  const recovering = faults.map(({ from, to }) => ({ from, to: awakeAfter(to, RECOVERY_MS, stalls) }));
  return { faults: union(faults), excused: union([...recovering, ...busy]) };
}

function keepsRedisAway({ kind }: PlannedFault): boolean {
  return !HARMLESS.includes(kind) && !APART.includes(KINDS[kind].needs);
}

/** The instant at which a process has been awake for so long. */
function awakeAfter(from: number, ms: number, stalls: readonly Span[]): number {
  let to = from + ms;
  for (;;) {
    const awake = to - from - overlap(stalls, { from, to });
    if (awake >= ms - 1) return to;
    to += ms - awake;
  }
}

/** A time in which Redis neither lost its keys nor had its clock stepped. */
export interface Epoch extends Span {
  readonly aheadMs: number;
  /** The range of the epoch's decisions in microseconds of Redis's clock. */
  readonly first: number;
  last: number;
  /** The losses of the keys before the epoch. */
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

/** The tolerance between two clocks, which code reads one after the other. */
const SLACK_MS = 3;

/** The instant of Redis's decision by the machine's clock. */
export function decidedAt({ at }: Pick<Decided, 'at'>, { aheadMs }: Epoch, wallAheadMs: number): number {
  return at / 1000 - aheadMs - wallAheadMs;
}

/** The epoch of Redis's decision: the one in which its instant lies between the call and the answer. */
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
