import { type DynamicModule, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import { type LibraryMetric, libraryMetrics } from '../metrics/prometheus.js';

/** What `RateLimitMetricsModule.forRoot` takes. */
export interface RateLimitMetricsOptions {
  /** Where the metrics are registered; default the global `register` of `prom-client`. */
  registry?: MetricsRegistry;
}

/** What is needed of a `Registry` of `prom-client`, whichever format it speaks. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
  getSingleMetric(name: string): unknown;
  removeSingleMetric(name: string): void;
}

const PLACE = 'RateLimitMetricsModule';

/** The limiters of a registry: its metrics are those of all of them together, of several applications in a process, say. */
interface Shared {
  readonly runtimes: Set<RateLimitRuntime>;
  readonly metrics: readonly LibraryMetric[];
}

const sharedBy = new WeakMap<MetricsRegistry, Shared>();

/** Brings the counters of one application to a registry, for as long as the application runs. */
class RateLimitMetrics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly shared: Shared;

  constructor(
    private readonly registry: MetricsRegistry,
    private readonly runtime: RateLimitRuntime,
  ) {
    let shared = sharedBy.get(registry);
    if (shared === undefined) {
      const runtimes = new Set<RateLimitRuntime>();
      shared = { runtimes, metrics: libraryMetrics(() => Array.from(runtimes, ({ limiter }) => limiter.stats())) };
      sharedBy.set(registry, shared);
    }
    this.shared = shared;
  }

  /** Not before: an application that does not come up leaves nothing behind. */
  onApplicationBootstrap(): void {
    const { registry, runtime, shared } = this;
    for (const metric of shared.metrics) {
      const known = registry.getSingleMetric(metric.id);
      if (known === undefined || known === metric) continue;
      throw new RateLimitConfigError(
        PLACE,
        `the registry has a metric named '${metric.id}' that is not the library's: give it a registry of its own`,
      );
    }
    for (const metric of shared.metrics) registry.registerMetric(metric as never);
    runtime.monitor.takeTimes();
    shared.runtimes.add(runtime);
  }

  onApplicationShutdown(): void {
    const { registry, runtime, shared } = this;
    if (!shared.runtimes.delete(runtime) || shared.runtimes.size > 0) return;
    for (const metric of shared.metrics) {
      if (registry.getSingleMetric(metric.id) === metric) registry.removeSingleMetric(metric.id);
    }
  }
}

/**
 * Prometheus metrics of the limiter, through `prom-client` (15, which is to be installed): see "Metrics and health" of the
 * README for what they are. They are the library's own counters, read when the registry is asked. Serving them is yours.
 *
 * Applications that share a registry share the metrics, and importing the module twice counts nothing twice.
 *
 * @example
 * ```ts
 * \@Module({ imports: [RateLimitModule.forRoot(), RateLimitMetricsModule.forRoot()] })
 * export class AppModule {}
 * ```
 */
@Module({})
export class RateLimitMetricsModule {
  /**
   * @throws at boot, {RateLimitConfigError} when an option is wrong, `prom-client` is missing, `RateLimitModule` is not imported,
   *   or the registry has a metric of the same name that is somebody else's
   */
  static forRoot(options: RateLimitMetricsOptions = {}): DynamicModule {
    return {
      module: RateLimitMetricsModule,
      providers: [
        {
          provide: RateLimitMetrics,
          inject: [{ token: RateLimitRuntime, optional: true }],
          useFactory: async (runtime: RateLimitRuntime | undefined) => {
            const registry = checked(options) ?? (await globalRegistry());
            if (runtime === undefined)
              throw new RateLimitConfigError(PLACE, 'needs RateLimitModule to be imported, too');
            return new RateLimitMetrics(registry, runtime);
          },
        },
      ],
    };
  }
}

function checked(options: RateLimitMetricsOptions): MetricsRegistry | undefined {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(PLACE, `options must be an object, got ${shown(options)}`);
  }
  for (const option of Object.keys(options)) {
    if (option !== 'registry') {
      throw new RateLimitConfigError(PLACE, `${shown(option)} is not an option; the options are registry`);
    }
  }
  const { registry } = options;
  const methods = ['registerMetric', 'getSingleMetric', 'removeSingleMetric'] as const;
  if (registry !== undefined && !methods.every((method) => typeof registry?.[method] === 'function')) {
    throw new RateLimitConfigError(PLACE, `registry must be a Registry of prom-client, got ${shown(registry)}`);
  }
  return registry;
}

/** Loaded here and only here: without this module nobody needs it. */
async function globalRegistry(): Promise<MetricsRegistry> {
  const { register: global } = await import('prom-client').catch(() => {
    throw new RateLimitConfigError(PLACE, 'needs the package prom-client: npm install prom-client@15');
  });
  return global;
}
