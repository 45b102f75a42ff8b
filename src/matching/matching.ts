import type { ClaimedDriver, DriverPosition, NearbyDriver } from '../drivers/driver-index.js';
import type { Position } from '../geo/position.js';
import type { MatchingStatistics } from './matching-statistics.js';

/** Why matching did not take a request; it is not the rider's fault and may pass. */
export const UNAVAILABILITIES = [
  'queue full',
  'waited too long',
  'shutting down',
  // Of a service of its own:
  'out of reach',
  'no answer in time',
] as const;

export type Unavailability = (typeof UNAVAILABILITIES)[number];

export class MatchingUnavailableError extends Error {
  override readonly name = 'MatchingUnavailableError';

  constructor(
    readonly reason: Unavailability,
    options?: ErrorOptions,
  ) {
    super(`matching is unavailable: ${reason}`, options);
  }
}

export interface Match extends ClaimedDriver {
  /** That of the zone at the moment of asking, not that of a queue later. */
  readonly surgeFactor: number;
}

/** What matching knows of a zone. */
export interface ZoneSupply {
  readonly zone: string;
  readonly free: number;
  readonly busy: number;
  readonly surgeFactor: number;
}

/**
 * Knows the drivers, who of them is free, and what a zone costs, and finds drivers for riders. In this process, or a service
 * that several processes share; this is its injection token. Workers answer what riders ask, so that all of it waits for
 * them when there is too much to do; what they need to know is told without waiting.
 */
export abstract class Matching {
  /**
   * The nearest free driver, who then is the rider's for the length of a trip; undefined if none is within reach.
   * @throws MatchingUnavailableError when there is too much to do or nobody answers, as the others do, too
   */
  abstract match(pickup: Position): Promise<Match | undefined>;

  /** Free drivers, the nearest first. */
  abstract nearby(center: Position, radiusKm: number, limit: number): Promise<NearbyDriver[]>;

  /** By how much the zone's fares are multiplied now. */
  abstract surgeFactor(zone: string): Promise<number>;

  /** In order: the last position of a driver is the one that counts. */
  abstract report(positions: readonly DriverPosition[]): Promise<void>;

  /** @throws ConflictException when too many zones have one */
  abstract setSurgeFactor(zone: string, factor: number): Promise<void>;

  /** Zones with drivers or a surge factor of their own. */
  abstract zones(): Promise<ZoneSupply[]>;

  abstract statistics(): Promise<MatchingStatistics>;
}
