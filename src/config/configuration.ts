/** Everything the environment decides about a process, read and checked once at boot. Also its injection token. */
export abstract class Configuration {
  abstract readonly port: number;
  /** The address that a service listens on, `ALL_ADDRESSES` or `localhost`. */
  abstract readonly bind: string;
  abstract readonly http: HttpConfiguration;
  /** Where the rate limits of all processes are kept; undefined keeps them in this process. */
  abstract readonly redisUrl: string | undefined;
  abstract readonly rateLimit: RateLimitMode;
  abstract readonly controlRoom: ControlRoomMode;
  /** Names that the control room is reached by, besides this machine's own. In lower case, without a port. */
  abstract readonly controlRoomHosts: readonly string[];
  /** What is let through to matching, for all riders together. */
  abstract readonly matchingLimit: MatchingLimitConfiguration;
  /** Application processes that share the limits: while Redis is away each decides with its share of them. */
  abstract readonly pods: number;
  abstract readonly drivers: DriversConfiguration;
  abstract readonly matching: MatchingConfiguration;
  abstract readonly trips: TripsConfiguration;
}

export const ALL_ADDRESSES = '*';

/** Milliseconds. */
export interface HttpConfiguration {
  /** The longest that a closing process waits for what is under way. */
  readonly shutdownGraceMs: number;
  /** The longest that a client takes for a request's headers, and for all of the request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
}

export interface MatchingLimitConfiguration {
  readonly perSecond: number;
  readonly burst: number;
}

/** `riders`: each rider's limits alone, without the one that protects the matching service. */
export const RATE_LIMIT_MODES = ['on', 'riders', 'off'] as const;

export type RateLimitMode = (typeof RATE_LIMIT_MODES)[number];

/** `watch`: the page shows what happens, and changes nothing; `off`: there is no page. */
export const CONTROL_ROOM_MODES = ['on', 'watch', 'off'] as const;

export type ControlRoomMode = (typeof CONTROL_ROOM_MODES)[number];

export interface DriversConfiguration {
  /** Simulated drivers present from the start, so that a first request finds one. */
  readonly seeded: number;
  /** The most reporting drivers a process remembers. */
  readonly max: number;
  /** A driver silent for this long is no longer offered. */
  readonly timeoutMs: number;
}

export interface MatchingConfiguration {
  /** The matching service that all application processes ask; undefined: each matches for itself. */
  readonly url: string | undefined;
  /** Where that service listens. */
  readonly port: number;
  readonly workers: number;
  /** How long one worker takes for one request. */
  readonly serviceMs: number;
  /** Requests that may wait for a worker. */
  readonly queue: number;
  /** The longest that one of them waits. */
  readonly patienceMs: number;
  /** How far from the rider a driver may be. */
  readonly radiusKm: number;
}

export interface TripsConfiguration {
  readonly durationMs: number;
  /** The most trips remembered, of all riders together and of each. */
  readonly kept: number;
  readonly keptPerRider: number;
}
