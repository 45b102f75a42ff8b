import { type DynamicModule, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { optionalPackageError } from '../../util/optional-package.js';
import { checkNames } from '../../util/option-rules.js';
import { RateLimitRuntime } from './rate-limit.runtime.js';
import { type LibraryMetric, libraryMetrics } from '../../metrics/prometheus.js';

/** The options of `RateLimitMetricsModule.forRoot`. */
export interface RateLimitMetricsOptions {
  /** The registry of the metrics. Default: the global `register` of `prom-client`. */
  registry?: MetricsRegistry;
}

/** The part of `prom-client`'s `Registry` that the module needs. Any of its formats fits. */
export interface MetricsRegistry {
  registerMetric(metric: never): void;
  getSingleMetric(name: string): unknown;
  removeSingleMetric(name: string): void;
}

const PLACE = 'RateLimitMetricsModule';

/** The limiters that share a registry: its metrics sum over all applications of a process. */
interface Shared {
  readonly runtimes: Set<RateLimitRuntime>;
  readonly metrics: readonly LibraryMetric[];
}

const sharedBy = new WeakMap<MetricsRegistry, Shared>();

/** Registers the counters of one application for as long as it runs. */
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

  /** Registers at the end of the boot, so that an application that fails to boot leaves nothing behind. */
  onApplicationBootstrap(): void {
    const { registry, runtime, shared } = this;
    for (const metric of shared.metrics) {
      const known = registry.getSingleMetric(metric.id);
      if (known === undefined || known === metric) continue;
      throw new RateLimitConfigError(
        PLACE,
        `the registry has a metric named '${metric.id}' that is not the library's: give it a registry of its own`,
        'FG_METRIC_NAME',
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
 * Prometheus metrics of the limiter, through `prom-client` 15, which has to be installed. docs/metrics.md lists them. The
 * registry reads the library's counters when it is asked; the application serves it.
 *
 * Applications that share a registry share the metrics. Importing the module twice counts nothing twice.
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
   * @throws {RateLimitConfigError} at boot, when an option is wrong, `prom-client` is missing, `RateLimitModule` is not imported,
   *   or the registry has another metric of the same name
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
              throw new RateLimitConfigError(PLACE, 'needs RateLimitModule to be imported, too', 'FG_MODULE_IMPORT');
            return new RateLimitMetrics(registry, runtime);
          },
        },
      ],
    };
  }
}

function checked(options: RateLimitMetricsOptions): MetricsRegistry | undefined {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(PLACE, `options must be an object, got ${shown(options)}`, 'FG_INVALID_OPTION');
  }
  checkNames(options, ['registry'], PLACE);
  const { registry } = options;
  const methods = ['registerMetric', 'getSingleMetric', 'removeSingleMetric'] as const;
  if (registry !== undefined && !methods.every((method) => typeof registry?.[method] === 'function')) {
    throw new RateLimitConfigError(
      PLACE,
      `registry must be a Registry of prom-client, got ${shown(registry)}`,
      'FG_INVALID_OPTION',
    );
  }
  return registry;
}

/** `prom-client` is loaded here and nowhere else: applications without this module need not install it. */
async function globalRegistry(): Promise<MetricsRegistry> {
  try {
    return (await import('prom-client')).register;
  } catch (error) {
    throw optionalPackageError(error, { name: 'prom-client', where: PLACE, versions: '^15.0.0' });
  }
}
