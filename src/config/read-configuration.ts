import { ALL_ADDRESSES, type Configuration, CONTROL_ROOM_MODES, RATE_LIMIT_MODES } from './configuration.js';
import { Environment, type Variables } from './environment.js';

const PORTS = { min: 0, max: 65_535 };

/** @throws EnvironmentError for the first variable that cannot be used */
export function readConfiguration(variables: Variables): Configuration {
  const env = new Environment(variables);
  return {
    port: env.integer('PORT', 3000, PORTS),
    // This machine alone: neither the API nor the control room asks for a password.
    bind: env.address('BIND', '127.0.0.1', [ALL_ADDRESSES, 'localhost']),
    http: {
      // More than the longest wait for matching, less than an orchestrator waits before it kills (deploy/kubernetes).
      shutdownGraceMs: 1000 * env.number('SHUTDOWN_GRACE_SECONDS', 8, { min: 0, max: 3600 }),
      headersTimeoutMs: 1000 * env.number('HEADERS_TIMEOUT_SECONDS', 10, { min: 0.1, max: 3600 }),
      requestTimeoutMs: 1000 * env.number('REQUEST_TIMEOUT_SECONDS', 30, { min: 0.1, max: 3600 }),
    },
    redisUrl: env.url('REDIS_URL', ['redis:', 'rediss:']),
    rateLimit: env.oneOf('RATE_LIMIT', RATE_LIMIT_MODES),
    // Who finds the page of a service in production is not therefore to start a surge there.
    controlRoom: env.oneOf('CONTROL_ROOM', CONTROL_ROOM_MODES, variables['NODE_ENV'] === 'production' ? 'watch' : 'on'),
    controlRoomHosts: env.hosts('CONTROL_ROOM_HOSTS'),
    matchingLimit: {
      perSecond: env.number('MATCHING_LIMIT', 150, { min: 0.001, max: 1_000_000 }),
      // Room for a few riders who ask at once: one alone may have 20.
      burst: env.integer('MATCHING_BURST', 60, { min: 1, max: 1_000_000 }),
    },
    pods: env.integer('PODS', 1, { min: 1, max: 10_000 }),
    drivers: {
      seeded: env.integer('DRIVERS_SEEDED', 500, { min: 0, max: 100_000 }),
      max: env.integer('DRIVERS_MAX', 100_000, { min: 1, max: 10_000_000 }),
      timeoutMs: 1000 * env.integer('DRIVER_TIMEOUT_SECONDS', 60, { min: 1, max: 86_400 }),
    },
    // 17 workers of 100 ms each hold 170 requests per second: the limit's 150, and some more, or no backlog would ever drain.
    matching: {
      url: env.url('MATCHING_URL', ['http:', 'https:']),
      // Platforms that give a process its port say PORT.
      port: env.integer('MATCHING_PORT', env.integer('PORT', 4000, PORTS), PORTS),
      workers: env.integer('MATCHING_WORKERS', 17, { min: 1, max: 10_000 }),
      serviceMs: env.integer('MATCHING_SERVICE_MS', 100, { min: 0, max: 60_000 }),
      queue: env.integer('MATCHING_QUEUE', 1000, { min: 0, max: 1_000_000 }),
      patienceMs: env.integer('MATCHING_PATIENCE_MS', 5000, { min: 1, max: 600_000 }),
      radiusKm: env.number('MATCHING_RADIUS_KM', 5, { min: 0.1, max: 50 }),
    },
    trips: {
      durationMs: 1000 * env.number('TRIP_SECONDS', 30, { min: 0.001, max: 86_400 }),
      kept: env.integer('TRIPS_KEPT', 50_000, { min: 1, max: 10_000_000 }),
      keptPerRider: env.integer('TRIPS_KEPT_PER_RIDER', 100, { min: 1, max: 10_000 }),
    },
  };
}
