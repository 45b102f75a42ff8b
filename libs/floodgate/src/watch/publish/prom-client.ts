import { RateLimitConfigError } from '../../util/config-error.js';
import { optionalPackageError } from '../../util/optional-package.js';
import type { Distribution, RateLimitStats } from '../stats.js';
import { type Figure, type Instrument, merged, type PrometheusMetric } from './instrument.js';
import { INSTRUMENTS } from './instruments.js';
import type { MetricsSource, Publish } from './publisher.js';

/** The part of `prom-client`'s `Registry` that the module needs. Any of its formats fits. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
  getSingleMetric(name: string): unknown;
  removeSingleMetric(name: string): void;
}

/** One line of a metric. */
interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

/** The limiters that share a registry: its metrics sum over all applications of a process. */
interface Shared {
  readonly sources: Set<MetricsSource>;
  readonly metrics: readonly LibraryMetric[];
}

const WHERE = 'RateLimitMetricsModule';
const sharedBy = new WeakMap<MetricsRegistry, Shared>();

/**
 * Publishes through `prom-client`. The registry reads the library's counters on demand: no request waits for a metric.
 *
 * @param given default: the global `register`
 * @throws {RateLimitConfigError} when no registry is given and `prom-client` is missing
 */
export async function promClient(given: MetricsRegistry | undefined): Promise<Publish> {
  const registry = given ?? (await globalRegistry());
  return (source) => {
    const { sources, metrics } = sharedOf(registry);
    for (const metric of metrics) {
      const known = registry.getSingleMetric(metric.id);
      if (known === undefined || known === metric) continue;
      throw new RateLimitConfigError(
        WHERE,
        `the registry has a metric named '${metric.id}' that is not the library's: give it a registry of its own`,
        'FG_METRIC_NAME',
      );
    }
    for (const metric of metrics) registry.registerMetric(metric as never);
    source.monitor.takeTimes();
    sources.add(source);
    return () => {
      if (!sources.delete(source) || sources.size > 0) return;
      for (const metric of metrics) {
        if (registry.getSingleMetric(metric.id) === metric) registry.removeSingleMetric(metric.id);
      }
    };
  };
}

/** A metric for a registry of `prom-client`, in any of its formats. */
export class LibraryMetric {
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly aggregator: Instrument['aggregator'];
  /** The name under which a registry keeps the metric. */
  readonly id: string;
  /** A registry of the OpenMetrics format takes `_total` off the name. */
  name: string;

  constructor(
    private readonly instrument: Instrument,
    private readonly metric: PrometheusMetric,
    private readonly read: () => readonly RateLimitStats[],
  ) {
    const { kind, aggregator } = instrument;
    ({ name: this.id, help: this.help } = metric);
    this.type = kind === 'sum' ? 'gauge' : kind;
    this.aggregator = aggregator;
    this.name = this.id;
  }

  // oxlint-disable-next-line require-await -- the registry expects a promise
  async get(): Promise<Pick<this, 'name' | 'help' | 'type' | 'aggregator'> & { values: Sample[] }> {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.samples() };
  }

  /** Does nothing: the counters belong to the library. */
  reset(): void {}

  private samples(): Sample[] {
    const { instrument, metric } = this;
    const figures = instrument.read(this.read());
    if (instrument.kind === 'histogram')
      return figures.flatMap((figure) => this.buckets(figure as Figure<Distribution>));
    return [...withResult(figures as readonly Figure<number>[], metric.result)];
  }

  private buckets({ value: { buckets, count, sum }, labels }: Figure<Distribution>): Sample[] {
    const { id } = this;
    const per = this.instrument.per;
    const bucket = (le: number | string, value: number): Sample => ({
      value,
      labels: { ...labels, le },
      metricName: `${id}_bucket`,
    });
    return [
      ...buckets.map((one) => bucket(one.upTo / per, one.count)),
      bucket('+Inf', count),
      { value: sum / per, labels, metricName: `${id}_sum` },
      { value: count, labels, metricName: `${id}_count` },
    ];
  }
}

/** The metrics over what `read` returns each time. */
export function libraryMetrics(read: () => readonly RateLimitStats[]): LibraryMetric[] {
  return INSTRUMENTS.flatMap((instrument) =>
    instrument.prometheus.map((metric) => new LibraryMetric(instrument, metric, read)),
  );
}

/** The figures of a metric that stands for one `result`, or for all of them, without that label. */
function withResult(figures: readonly Figure<number>[], wanted: PrometheusMetric['result']): readonly Figure<number>[] {
  if (wanted === undefined) return figures;
  const some = figures.filter(({ labels }) => wanted === 'any' || labels['result'] === wanted);
  const bare = some.map(({ value, labels }) => {
    const others = Object.entries(labels).filter(([label]) => label !== 'result');
    return { value, labels: Object.fromEntries(others) };
  });
  return wanted === 'any' ? merged(bare, (a, b) => a + b) : bare;
}

function sharedOf(registry: MetricsRegistry): Shared {
  let shared = sharedBy.get(registry);
  if (shared === undefined) {
    const sources = new Set<MetricsSource>();
    shared = { sources, metrics: libraryMetrics(() => Array.from(sources, ({ limiter }) => limiter.stats())) };
    sharedBy.set(registry, shared);
  }
  return shared;
}

async function globalRegistry(): Promise<MetricsRegistry> {
  try {
    return (await import('prom-client')).register;
  } catch (error) {
    throw optionalPackageError(error, { name: 'prom-client', where: WHERE, versions: '^15.0.0' });
  }
}
