import { type DynamicModule, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { checkNames, type Publish, PUBLISHERS, shown } from 'floodgate/internal';
import { type MetricsMeterProvider, type MetricsRegistry, RateLimitConfigError } from 'floodgate';
import { RateLimitLogger } from '../handlers/logger.js';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';

export type { MetricsMeterProvider, MetricsRegistry };

/** The options of `RateLimitMetricsModule.forRoot`. */
export interface RateLimitMetricsOptions {
  /**
   * What publishes the metrics: `'prom-client'`, or `'opentelemetry'` for `@opentelemetry/api` and the application's own SDK. Only the
   * chosen package is loaded. Default: `'opentelemetry'` with a `meterProvider`, otherwise `'prom-client'`.
   */
  through?: 'prom-client' | 'opentelemetry' | undefined;
  /** The registry of `prom-client`. Default: its global `register`. */
  registry?: MetricsRegistry | undefined;
  /** OpenTelemetry's provider of meters. Default: the global one, as it is at the end of the boot. */
  meterProvider?: MetricsMeterProvider | undefined;
  /**
   * Whether the current span of OpenTelemetry gets `rate_limit.policy`, `rate_limit.result` and `rate_limit.remaining` of each
   * decision, whatever publishes the metrics. Default: false.
   */
  spanAttributes?: boolean | undefined;
}

const PLACE = 'RateLimitMetricsModule';

/** Publishes the counters of one application for as long as it runs. */
class RateLimitMetrics implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly ends: (() => void)[] = [];

  /** @param publishers where the counters are published, and what is told of decisions */
  constructor(
    private readonly runtime: RateLimitRuntime,
    private readonly publishers: readonly Publish[],
  ) {}

  /** Starts at the end of the boot, so that an application that fails to boot leaves nothing behind. */
  onApplicationBootstrap(): void {
    for (const publish of this.publishers) this.ends.push(publish(this.runtime.parts));
  }

  onApplicationShutdown(): void {
    for (const end of this.ends.splice(0)) end();
  }
}

/**
 * Metrics of the limiter for Prometheus, through `prom-client` 15, or for OpenTelemetry, through `@opentelemetry/api` and the
 * application's SDK. The package that is chosen has to be installed. docs/metrics.md lists the metrics.
 *
 * Applications that share a registry or a provider share the metrics. Importing the module twice counts nothing twice.
 *
 * @example
 * ```ts
 * \@Module({ imports: [RateLimitModule.forRoot(), RateLimitMetricsModule.forRoot({ through: 'opentelemetry' })] })
 * export class AppModule {}
 * ```
 */
@Module({})
export class RateLimitMetricsModule {
  /**
   * @throws {RateLimitConfigError} at boot, when an option is wrong, the chosen package is missing, `RateLimitModule` is not imported,
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
            check(options);
            const publishers = [await publisherOf(options)];
            if (options.spanAttributes === true) publishers.push(await spanAttributes());
            if (runtime === undefined)
              throw new RateLimitConfigError(PLACE, 'needs RateLimitModule to be imported, too', 'FG_MODULE_IMPORT');
            return new RateLimitMetrics(runtime, publishers);
          },
        },
      ],
    };
  }
}

async function publisherOf({ through, registry, meterProvider }: RateLimitMetricsOptions): Promise<Publish> {
  if (through === 'prom-client' || (through === undefined && meterProvider === undefined)) {
    return (await PUBLISHERS.promClient())(registry);
  }
  return (await PUBLISHERS.openTelemetry())(meterProvider, new RateLimitLogger());
}

async function spanAttributes(): Promise<Publish> {
  return (await PUBLISHERS.spans())(new RateLimitLogger());
}

/** @throws {RateLimitConfigError} when an option is wrong, or has no effect */
function check(options: RateLimitMetricsOptions): void {
  const wrong = (problem: string): never => {
    throw new RateLimitConfigError(PLACE, problem);
  };
  if (typeof options !== 'object' || options === null) wrong(`options must be an object, got ${shown(options)}`);
  checkNames(options, ['through', 'registry', 'meterProvider', 'spanAttributes'], PLACE);
  const { through, registry, meterProvider, spanAttributes: spans } = options;
  if (through !== undefined && through !== 'prom-client' && through !== 'opentelemetry') {
    wrong(`through must be 'prom-client' or 'opentelemetry', got ${shown(through)}`);
  }
  if (spans !== undefined && typeof spans !== 'boolean') wrong(`spanAttributes must be a boolean, got ${shown(spans)}`);
  const methods = ['registerMetric', 'getSingleMetric', 'removeSingleMetric'] as const;
  if (registry !== undefined && !methods.every((method) => typeof registry?.[method] === 'function')) {
    wrong(`registry must be a Registry of prom-client, got ${shown(registry)}`);
  }
  if (meterProvider !== undefined && typeof meterProvider?.getMeter !== 'function') {
    wrong(`meterProvider must be a MeterProvider of OpenTelemetry, got ${shown(meterProvider)}`);
  }
  const isPrometheus = through === 'prom-client' || (through === undefined && meterProvider === undefined);
  const idle = isPrometheus ? 'meterProvider' : 'registry';
  if (options[idle] !== undefined) {
    const other = isPrometheus ? 'prom-client' : 'opentelemetry';
    throw new RateLimitConfigError(
      PLACE,
      `${idle} has no effect, because the metrics go through '${other}': leave it out, or import the module once for each`,
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
}
