import type { CONTROL_ROOM_MODES, RATE_LIMIT_MODES } from './environment.js';

export { ALL_ADDRESSES } from './environment.js';

/** The configuration of a process: `ConfigService<Configuration, true>` has it, read from the environment at boot. */
export interface Configuration {
  readonly port: number;
  /** The address that a service listens on: an IP address, `localhost` or `ALL_ADDRESSES`. */
  readonly bind: string;
  readonly http: HttpConfiguration;
  /** The Redis that holds the rate limits of all processes; undefined keeps them in this process. */
  readonly redisUrl: string | undefined;
  /** The PostgreSQL with riders, trips and zone statistics; undefined: an empty database in this process. */
  readonly databaseUrl: string | undefined;
  readonly rateLimit: RateLimitMode;
  /** Whether the library's guard stands before every route. The worlds of the control room bind one with a switch in its place. */
  readonly rateLimitGuard: boolean;
  /** Whether a process that cannot keep up rejects requests that can wait. */
  readonly shedsLoad: boolean;
  /** The token of operators who change limits at run time; undefined: nobody can. Never logged. */
  readonly adminToken: string | undefined;
  readonly controlRoom: ControlRoomMode;
  /** Host names that reach the control room, besides this machine's own: lower case, without ports. */
  readonly controlRoomHosts: readonly string[];
  /** Whether the application serves the page `/docs`. */
  readonly apiDocs: boolean;
  /** The limit of all riders together on what matching has to answer. */
  readonly matchingLimit: MatchingLimitConfiguration;
  /** Application processes that share the limits. Without Redis each decides with its share of them. */
  readonly pods: number;
  readonly drivers: DriversConfiguration;
  readonly matching: MatchingConfiguration;
  readonly trips: TripsConfiguration;
}

export interface HttpConfiguration {
  /** The longest that a closing process waits for requests under way. */
  readonly shutdownGraceMs: number;
  /** The longest that a client may take to send a request's headers. */
  readonly headersTimeoutMs: number;
  /** The longest that a client may take to send a whole request. */
  readonly requestTimeoutMs: number;
}

export interface MatchingLimitConfiguration {
  readonly perSecond: number;
  readonly burst: number;
}

export type RateLimitMode = (typeof RATE_LIMIT_MODES)[number];

export type ControlRoomMode = (typeof CONTROL_ROOM_MODES)[number];

export interface DriversConfiguration {
  /** Simulated drivers that are present from the start, so that a first request finds one. */
  readonly seeded: number;
  /** The most reporting drivers that a process remembers. */
  readonly max: number;
  /** A driver who is silent for this long is no longer offered. */
  readonly timeoutMs: number;
}

export interface MatchingConfiguration {
  /** The matching service that all application processes ask; undefined: each process matches for itself. */
  readonly url: string | undefined;
  /** The port of the matching service. */
  readonly port: number;
  readonly workers: number;
  /** The time that one worker takes for one request. */
  readonly serviceMs: number;
  /** Requests that may wait for a worker. */
  readonly queue: number;
  /** The longest that a request waits for a worker. */
  readonly patienceMs: number;
  /** Whether the work for riders who have left is dropped. */
  readonly cancels: boolean;
  /** Whether a long queue serves the newest request first, and a full one gives up on the oldest. */
  readonly newestFirst: boolean;
  /** The greatest distance between a rider and their driver. */
  readonly radiusKm: number;
}

export interface TripsConfiguration {
  readonly durationMs: number;
  /** The most trips in the database: the oldest are deleted, from 1 % more on. */
  readonly kept: number;
  /** The most trips of one rider in the database. */
  readonly keptPerRider: number;
}
