import type { Answered } from '../pods/pod.js';
import type { Limit } from '../pods/engine.js';
import { perSecond } from '../../lab/textbook/arithmetic.js';
import { type Admission, worstExcess } from '../../lab/textbook/bounds.js';
import { IdealStore } from './ideal-store.js';

/** The key of a limit that all clients share. */
const GLOBAL = '';

/** What happened in a part of a run. */
export interface Span {
  /** Microseconds since the simulation began. */
  readonly from: number;
  readonly to: number;
}

/** Notes what arrived and what was answered, and compares it with what the limit allows. */
export class Record {
  arrived = 0;
  answered = 0;
  private readonly ideal: IdealStore;
  /** By key. */
  private readonly admissions = new Map<string, Admission[]>();
  private readonly latencies: number[] = [];
  private readonly sources = new Map<string, number>();

  constructor(private readonly limit: Limit) {
    this.ideal = new IdealStore(limit);
  }

  /** A request arrives at a pod, at an instant in microseconds. */
  arrive(identity: string, at: number): void {
    this.arrived++;
    this.ideal.arrive(this.keyOf(identity), Math.floor(at));
  }

  readonly answer = ({ identity, allowed, at, by, arrivedAt, answeredAt }: Answered): void => {
    this.answered++;
    this.latencies.push(answeredAt - arrivedAt);
    this.sources.set(by, (this.sources.get(by) ?? 0) + 1);
    if (!allowed) return;
    const key = this.keyOf(identity);
    const known = this.admissions.get(key);
    if (known === undefined) this.admissions.set(key, [{ at }]);
    else known.push({ at });
  };

  get admitted(): number {
    let admitted = 0;
    for (const ofKey of this.admissions.values()) admitted += ofKey.length;
    return admitted;
  }

  /** What one exact Redis without latency would have admitted. */
  get idealAdmitted(): number {
    return this.ideal.admitted;
  }

  /** By how much all keys together exceed what their limits allow, each in its worst interval. 0: no limit was exceeded. */
  get excess(): number {
    const { capacity, refill } = this.limit;
    let excess = 0;
    for (const ofKey of this.admissions.values())
      excess += Math.max(0, worstExcess(ofKey, capacity, perSecond(refill)));
    return excess;
  }

  /** What the store of `idealAdmitted` would have admitted within a span. */
  idealIn({ from, to }: Span): number {
    return this.ideal.admittedIn(from, to);
  }

  /** Admissions within a span. */
  admittedIn({ from, to }: Span): number {
    let admitted = 0;
    for (const ofKey of this.admissions.values()) {
      for (const { at } of ofKey) if (at >= from && at < to) admitted++;
    }
    return admitted;
  }

  /** The part of the decisions that each source made. */
  get decidedBy(): Readonly<{ [source: string]: number }> {
    return Object.fromEntries([...this.sources].map(([source, count]) => [source, count / this.answered]));
  }

  /** Milliseconds within which so many of the decisions were there: 0.5 is the median. */
  latencyMs(part: number): number {
    const sorted = Float64Array.from(this.latencies).toSorted();
    return sorted.length === 0 ? 0 : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]! / 1000;
  }

  private keyOf(identity: string): string {
    return this.limit.global ? GLOBAL : identity;
  }
}
