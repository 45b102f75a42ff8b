import type { BatchObservableCallback, Meter, MetricAttributes, Observable } from '@opentelemetry/api';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import { optionalPackageError } from '../../util/optional-package.js';
import { RationedWarning } from '../../util/rationed-warning.js';
import { reasonOf } from '../../util/thrown.js';
import { type Figure, type Instrument, type Labels, merged } from './instrument.js';
import { INSTRUMENTS } from './instruments.js';
import type { MetricsSource, Publish } from './publisher.js';

/** The part of OpenTelemetry's `MeterProvider` that the module needs. */
export interface MetricsMeterProvider {
  getMeter(name: string): unknown;
}

/** The name of the library's meter, and of its instrumentation scope. */
export const METER = 'nestjs-floodgate';

const WHERE = 'RateLimitMetricsModule';
const NO_PROVIDER =
  `${WHERE}: no MeterProvider of OpenTelemetry is registered, so nothing reads the metrics: start its SDK before the application, ` +
  `or give the provider as meterProvider`;
const publishedBy = new WeakMap<MetricsMeterProvider, Published>();

/**
 * Publishes through the meters of the application's OpenTelemetry SDK. The SDK reads the library's counters when it collects; only the
 * values of histograms are recorded as they come, because its API has no other way.
 *
 * @param given default: the global provider, as it is when the application has booted
 * @param logger is told when there is no global provider, and of a provider that throws
 * @throws {RateLimitConfigError} when no provider is given and `@opentelemetry/api` is missing
 */
export async function openTelemetry(
  given: MetricsMeterProvider | undefined,
  logger: Pick<Logger, 'warn'>,
): Promise<Publish> {
  const api = given === undefined ? await loadApi() : undefined;
  return (source) => {
    const provider = given ?? api!.metrics.getMeterProvider();
    let published = publishedBy.get(provider);
    if (published === undefined) {
      const meter = provider.getMeter(METER) as Meter;
      // Every meter of the provider that stands there before an SDK is the same one.
      if (meter === api?.createNoopMeter()) {
        logger.warn(withHelp(NO_PROVIDER, 'FG_NO_METER_PROVIDER'));
        return () => {};
      }
      publishedBy.set(provider, (published = new Published(meter, failureOf(logger))));
    }
    return published.add(source);
  };
}

/** @throws {RateLimitConfigError} when `@opentelemetry/api` is missing */
export async function loadApi(): Promise<typeof import('@opentelemetry/api')> {
  try {
    return await import('@opentelemetry/api');
  } catch (error) {
    throw optionalPackageError(error, { name: '@opentelemetry/api', where: WHERE, versions: '^1.9.0' });
  }
}

/** The name of a label as an attribute. */
export function attributeOf(label: string): string {
  return `rate_limit.${label}`;
}

/** The instruments of one meter, which sum over all applications of a process. */
class Published {
  private readonly sources = new Map<MetricsSource, () => void>();
  /** The figures of limiters that have ended, by instrument. A counter of OpenTelemetry must not fall. */
  private readonly ended = new Map<Instrument, readonly Figure<number>[]>();
  private readonly observed = new Map<Instrument, Observable>();
  private readonly recorded = new Map<Instrument, (value: number, labels: Labels) => void>();

  constructor(
    private readonly meter: Meter,
    failed: (error: unknown) => void,
  ) {
    for (const instrument of INSTRUMENTS) {
      if (instrument.kind === 'histogram') this.recorded.set(instrument, recorderOf(meter, instrument, failed));
      else this.observed.set(instrument, observableOf(meter, instrument));
    }
  }

  add(source: MetricsSource): () => void {
    if (this.sources.has(source)) return () => {};
    if (this.sources.size === 0) this.meter.addBatchObservableCallback(this.observe, [...this.observed.values()]);
    source.monitor.takeTimes();
    const untap = Array.from(this.recorded, ([{ measured }, record]) => source.monitor.measured[measured!].tap(record));
    this.sources.set(source, () => untap.forEach((end) => end()));
    return () => this.remove(source);
  }

  private remove(source: MetricsSource): void {
    const end = this.sources.get(source);
    if (end === undefined) return;
    end();
    this.sources.delete(source);
    const stats = [source.limiter.stats()];
    for (const instrument of INSTRUMENTS) {
      if (instrument.kind === 'counter') this.ended.set(instrument, this.withEnded(instrument, instrument.read(stats)));
    }
    if (this.sources.size > 0) return;
    this.meter.removeBatchObservableCallback(this.observe, [...this.observed.values()]);
  }

  private readonly observe: BatchObservableCallback = (result) => {
    const stats = Array.from(this.sources.keys(), ({ limiter }) => limiter.stats());
    for (const [instrument, observable] of this.observed) {
      for (const { value, labels } of this.withEnded(instrument, instrument.read(stats))) {
        result.observe(observable, value, attributesOf(labels));
      }
    }
  };

  private withEnded(instrument: Instrument, figures: readonly Figure[]): readonly Figure<number>[] {
    const ended = this.ended.get(instrument);
    const live = figures as readonly Figure<number>[];
    return ended === undefined ? live : merged([...ended, ...live], (a, b) => a + b);
  }
}

function observableOf(meter: Meter, { name, help: description, unit, kind }: Instrument): Observable {
  const options = { description, unit };
  if (kind === 'counter') return meter.createObservableCounter(name, options);
  if (kind === 'sum') return meter.createObservableUpDownCounter(name, options);
  return meter.createObservableGauge(name, options);
}

function recorderOf(
  meter: Meter,
  { name, help: description, unit, bounds, per }: Instrument,
  failed: (error: unknown) => void,
): (value: number, labels: Labels) => void {
  const explicitBucketBoundaries = bounds!.map((bound) => bound / per);
  const histogram = meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries } });
  return (value, labels) => {
    // A provider of the application must not fail a request.
    try {
      histogram.record(value / per, attributesOf(labels));
    } catch (error) {
      failed(error);
    }
  };
}

/** Says, not too often, that a provider of OpenTelemetry throws. */
export function failureOf(logger: Pick<Logger, 'warn'>): (error: unknown) => void {
  const warning = new RationedWarning(logger);
  return (error) =>
    warning.warn(withHelp(`${WHERE}: OpenTelemetry's SDK failed: ${reasonOf(error)}`, 'FG_FUNCTION_FAILED'));
}

function attributesOf(labels: Labels): MetricAttributes {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [attributeOf(label), value]));
}
