import { BOUNDS, type Measured } from '../measured.js';
import type { Distribution, PolicyStats, RateLimitStats } from '../stats.js';

/** What tells the figures of one instrument apart: names of policies, and words of the library. Never an identity. */
export type Labels = Readonly<Record<string, string>>;

/** A figure of an instrument: a number, or the distribution of a histogram. */
export interface Figure<Value = number | Distribution> {
  readonly value: Value;
  readonly labels: Labels;
}

/** What the library counts, in OpenTelemetry's terms and in Prometheus's. */
export interface Instrument {
  /** The name by OpenTelemetry's conventions. */
  readonly name: string;
  /** The metrics of `prom-client`: one, or one for each `result` where they are older than that label. */
  readonly prometheus: readonly PrometheusMetric[];
  readonly help: string;
  /** The unit in UCUM, as OpenTelemetry wants it. */
  readonly unit: Unit;
  /** A counter grows. A sum goes up and down, and adds up over processes. A gauge does not add up. */
  readonly kind: 'counter' | 'sum' | 'gauge' | 'histogram';
  /** How the processes of a Node cluster are combined. */
  readonly aggregator: 'sum' | 'min' | 'max';
  readonly labels: readonly string[];
  /** The figures of all limiters of a process together. */
  readonly read: Read;
  /** The member of `Measured` that counts a histogram's values, and its bounds; absent for other kinds. */
  readonly measured?: keyof Measured;
  readonly bounds?: readonly number[];
  /** What values and bounds are divided by when they are published. */
  readonly per: 1 | 1000;
}

export interface PrometheusMetric {
  readonly name: string;
  readonly help: string;
  /** The figures with this `result`, or with any, without that label. Absent: all figures with all labels. */
  readonly result?: 'any' | 'allowed' | 'rejected';
}

type Unit = 's' | '1' | `{${string}}`;
type Read = (stats: readonly RateLimitStats[]) => readonly Figure[];
/** The counts of one limiter. */
type Counts = readonly (readonly [labels: Labels, count: number])[];
type Names = readonly [name: string, prometheus: string, unit: Unit];

/** @param counts of one limiter: each combination of labels at most once */
export function counter(
  names: Names,
  help: string,
  labels: readonly string[],
  counts: (stats: RateLimitStats) => Counts,
): Instrument {
  return instrument(names, help, 'counter', labels, addedUp(counts));
}

/** A number that goes up and down. A figure that was once there stays there, as 0: an SDK would repeat its last value. */
export function sum(...[names, help, labels, counts]: Parameters<typeof counter>): Instrument {
  return instrument(names, help, 'sum', labels, addedUp(counts));
}

/** @param aggregator how limiters, and the processes of a Node cluster, are combined */
export function gauge(
  names: Names,
  help: string,
  aggregator: 'min' | 'max',
  level: (stats: RateLimitStats) => number,
): Instrument {
  const read: Read = (stats) =>
    stats.length === 0 ? [] : [{ value: Math[aggregator](...stats.map(level)), labels: {} }];
  return { ...instrument(names, help, 'gauge', [], read), aggregator };
}

/** @param distributions of one limiter; undefined: it measures none */
export function histogram(
  names: Names,
  help: string,
  labels: readonly string[],
  measured: keyof Measured,
  distributions: (stats: RateLimitStats) => readonly Figure<Distribution>[] | undefined,
): Instrument {
  const read: Read = (stats) =>
    merged(
      stats.flatMap((one) => distributions(one) ?? []),
      together,
    );
  return { ...instrument(names, help, 'histogram', labels, read), measured, bounds: BOUNDS[measured] };
}

/**
 * The decisions of policies, by `result`: `other` requests were rejected by another policy, or got a 503.
 *
 * @param helps what the metrics of all, of allowed and of rejected requests say in Prometheus
 */
export function byResult(
  [name, prefix]: readonly [name: string, prefix: string],
  helps: readonly [any: string, allowed: string, rejected: string],
  tallies: (stats: RateLimitStats) => readonly PolicyStats[],
): Instrument {
  const counts = ({ policy, algorithm, priority, requests, allowed, rejected }: PolicyStats): Counts => {
    const labels: Labels = priority === undefined ? { policy, algorithm } : { policy, algorithm, priority };
    return each('result', { allowed, rejected, other: requests - allowed - rejected }, labels);
  };
  const read = addedUp((stats) => tallies(stats).flatMap(counts));
  const labels = ['policy', 'algorithm', 'priority', 'result'];
  const prometheus = (['any', 'allowed', 'rejected'] as const).map((result, i) => ({
    name: `rate_limiter_${prefix}${result === 'any' ? 'requests' : result}_total`,
    help: helps[i]!,
    result,
  }));
  return { ...instrument([name, '', '{request}'], helps[0], 'counter', labels, read), prometheus };
}

/** A count for each value of a label. */
export function each(label: string, counts: Readonly<Record<string, number>>, labels: Labels = {}): Counts {
  return Object.entries(counts).map(([value, count]) => [{ ...labels, [label]: value }, count]);
}

/** Makes one figure of those with equal labels. */
export function merged<Value>(
  figures: readonly Figure<Value>[],
  add: (a: Value, b: Value) => Value,
): readonly Figure<Value>[] {
  const byLabels = new Map<string, Figure<Value>>();
  for (const figure of figures) {
    const id = JSON.stringify(figure.labels);
    const known = byLabels.get(id);
    byLabels.set(id, known === undefined ? figure : { ...known, value: add(known.value, figure.value) });
  }
  return [...byLabels.values()];
}

function instrument(
  [name, prometheus, unit]: Names,
  help: string,
  kind: Instrument['kind'],
  labels: readonly string[],
  read: Read,
): Instrument {
  return {
    name: `rate_limit.${name}`,
    prometheus: [{ name: `rate_limiter_${prometheus}`, help }],
    help,
    unit,
    kind,
    aggregator: 'sum',
    // The library measures in milliseconds.
    per: unit === 's' ? 1000 : 1,
    labels,
    read,
  };
}

function addedUp(counts: (stats: RateLimitStats) => Counts): Read {
  const figures = (one: RateLimitStats): Figure<number>[] => counts(one).map(([labels, value]) => ({ labels, value }));
  // A limiter has each combination of labels once.
  return (stats) => (stats.length === 1 ? figures(stats[0]!) : merged(stats.flatMap(figures), (a, b) => a + b));
}

function together(a: Distribution, b: Distribution): Distribution {
  const buckets = a.buckets.map(({ upTo, count }, i) => ({ upTo, count: count + b.buckets[i]!.count }));
  return { buckets, count: a.count + b.count, sum: a.sum + b.sum };
}
