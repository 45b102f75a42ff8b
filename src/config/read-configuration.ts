import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import type { Configuration } from './configuration.js';
import { Environment } from './environment.js';

/** Environment variables that the application cannot use. The message has one line for each. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
}

export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads and validates the environment.
 *
 * @throws EnvironmentError that names each wrong variable, its value and the expected value
 */
export function readConfiguration(variables: Variables): Configuration {
  const env = validated(variables);
  return {
    port: env.PORT ?? 3000,
    bind: env.BIND,
    http: {
      shutdownGraceMs: 1000 * env.SHUTDOWN_GRACE_SECONDS,
      headersTimeoutMs: 1000 * env.HEADERS_TIMEOUT_SECONDS,
      requestTimeoutMs: 1000 * env.REQUEST_TIMEOUT_SECONDS,
    },
    redisUrl: env.REDIS_URL,
    databaseUrl: env.DATABASE_URL,
    rateLimit: env.RATE_LIMIT,
    rateLimitGuard: env.RATE_LIMIT !== 'off',
    shedsLoad: env.SHED_LOAD === 'on',
    adminToken: env.ADMIN_TOKEN,
    controlRoom: env.CONTROL_ROOM ?? (env.NODE_ENV === 'production' ? 'watch' : 'on'),
    apiDocs: (env.API_DOCS ?? (env.NODE_ENV === 'production' ? 'off' : 'on')) === 'on',
    controlRoomHosts: env.CONTROL_ROOM_HOSTS,
    matchingLimit: { perSecond: env.MATCHING_LIMIT, burst: env.MATCHING_BURST },
    pods: env.PODS,
    drivers: {
      seeded: env.DRIVERS_SEEDED,
      max: env.DRIVERS_MAX,
      timeoutMs: 1000 * env.DRIVER_TIMEOUT_SECONDS,
    },
    matching: {
      url: env.MATCHING_URL,
      port: env.MATCHING_PORT ?? env.PORT ?? 4000,
      workers: env.MATCHING_WORKERS,
      serviceMs: env.MATCHING_SERVICE_MS,
      queue: env.MATCHING_QUEUE,
      patienceMs: env.MATCHING_PATIENCE_MS,
      cancels: env.MATCHING_CANCEL === 'on',
      newestFirst: env.MATCHING_NEWEST_FIRST === 'on',
      radiusKm: env.MATCHING_RADIUS_KM,
    },
    trips: {
      durationMs: 1000 * env.TRIP_SECONDS,
      kept: env.TRIPS_KEPT,
      keptPerRider: env.TRIPS_KEPT_PER_RIDER,
    },
  };
}

/** Treats an empty variable as unset, since compose files pass empty ones. */
function validated(variables: Variables): Environment {
  const given: Record<string, string> = {};
  for (const name of Object.keys(new Environment())) {
    const value = variables[name]?.trim();
    if (value) given[name] = value;
  }
  const environment = plainToInstance(Environment, given);
  const problems = validateSync(environment).flatMap(({ constraints = {} }) => Object.values(constraints));
  if (problems.length > 0) throw new EnvironmentError(problems.join('\n'));
  return environment;
}
