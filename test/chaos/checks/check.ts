import { overlap, type Span, union } from '../clock.js';
import type { Decided, ProcessHistory } from '../history.js';
import { KINDS } from '../plan.js';
import type { Injury } from '../run/perform.js';
import type { Sent } from '../run/load.js';
import type { Turn } from '../run/redis.js';
import { type Epoch, epochsOf, type Outages, outagesOf } from '../times.js';

/** The result of a check: its failures, each with time and place. */
export interface Failure {
  readonly at: number;
  readonly text: string;
  /** Failures of one kind, in one history and close together, are shown as one. */
  readonly kind?: string;
  /** The history that shows it. */
  readonly path?: string;
}

export interface Verdict {
  readonly name: string;
  readonly failures: readonly Failure[];
  /** Figures for the report. */
  readonly seen: string;
}

/** The records of a run, as the checks need them. */
export interface Evidence {
  readonly began: number;
  readonly ended: number;
  readonly injuries: readonly Injury[];
  readonly histories: readonly ProcessHistory[];
  readonly sent: readonly Sent[];
  readonly turns: readonly Turn[];
  /** The places that are taken once the last holder has ended, and the time is over in which a lost one comes back. */
  readonly placesLeft: number;
  /** The number of writes to each key that belongs to one request. */
  readonly writes: ReadonlyMap<string, number>;
  /** When the machine was slow, and when the clients were. */
  readonly slow: readonly Span[];
  readonly clientStalls: readonly Span[];
  readonly wallAheadMs: number;
  /** By pod: the times without a process that serves. */
  readonly away: readonly (readonly Span[])[];
  /** The failures that the run itself noticed, such as processes that ended. */
  readonly wrong: readonly Failure[];
}

/** The evidence of a run, with the data derived from it. */
export interface Run extends Evidence {
  readonly epochs: readonly Epoch[];
  /** By pod. */
  readonly outages: readonly Outages[];
  readonly clientStalled: readonly Span[];
}

export function runOf(evidence: Evidence): Run {
  const { turns, began, injuries, slow, away, clientStalls, histories } = evidence;
  // While a fault kept Redis from answering, a slow answer does not mean a busy machine.
  const ofRedis = injuries.filter(({ fault }) => KINDS[fault.kind].needs === 'redis');
  const slowWithout = union(slow).filter((span) => overlap(union(ofRedis), span) === 0);
  return {
    ...evidence,
    epochs: epochsOf(turns, began - BOOT_MS),
    slow: slowWithout,
    outages: away.map((_, pod) => outagesOf(pod, injuries, slowWithout, stallsOf(histories, pod))),
    clientStalled: union(clientStalls),
  };
}

/** When the processes of a pod stood still. */
export function stallsOf(histories: readonly ProcessHistory[], pod: number): Span[] {
  return union(histories.filter((history) => history.pod === pod).flatMap(({ stalls }) => stalls));
}

/** The first epoch begins so long before the run, so that it contains the requests of the start. */
const BOOT_MS = 60_000;

/** Whether one of the spans has an instant in common with `span`. */
export function touches(sorted: readonly Span[], { from, to }: Span): boolean {
  return sorted.some((one) => one.from <= to && one.to >= from);
}

/** Whether a fault kept Redis from the process during the call. The library is not to blame then. */
export function isExcused({ outages }: Pick<Run, 'outages'>, { process, askedAt, decidedAt }: Decided): boolean {
  return touches(outages[process.pod]!.excused, { from: askedAt, to: decidedAt });
}

/** The faults around an instant, one of which may be the cause. */
export function faultsAround({ injuries }: Pick<Run, 'injuries'>, pod: number, at: number): string {
  const near = ({ fault, from, to }: Injury): boolean =>
    (fault.pod === undefined || fault.pod === pod) && from <= at && to >= at - AROUND_MS;
  const names = injuries.filter(near).map(({ fault }) => fault.kind);
  return names.length === 0 ? 'no fault around it' : `around it: ${names.join(', ')}`;
}

const AROUND_MS = 3000;
