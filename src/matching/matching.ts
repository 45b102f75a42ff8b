import type { ClaimedDriver, DriverPosition, NearbyDriver } from './drivers/driver-index.js';
import type { Position } from '../geo/position.js';
import type { MatchingStatistics } from './matching-statistics.js';

/** Reasons why matching did not serve a request. None is the rider's fault, and each can pass. */
export const UNAVAILABILITIES = [
  'queue full',
  'waited too long',
  'shutting down',
  // Only of the matching service:
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
  /** The factor of the zone when the rider asked. It may change while the request waits. */
  readonly surgeFactor: number;
}

/** The drivers and the surge factor of a zone. */
export interface ZoneSupply {
  readonly zone: string;
  readonly free: number;
  readonly busy: number;
  readonly surgeFactor: number;
}

/**
 * Finds drivers for riders, and knows the surge factors of zones. It runs in this process, or in a service that several
 * processes share. This class is its injection token.
 *
 * Workers answer the requests of riders, which wait when all workers are busy. Reports and statistics do not wait.
 *
 * The requests of riders take a signal, which is aborted when the rider has left. With `MATCHING_CANCEL` the request then gives up
 * its place in the queue and rejects with the signal's reason. A search that has begun takes its time, but then it takes no driver.
 * Without it, as in most services, the work goes on for a rider who has left.
 */
export abstract class Matching {
  /**
   * Takes the nearest free driver for the length of a trip.
   *
   * A rider who leaves after that keeps the driver for the trip.
   *
   * @returns undefined if no free driver is within reach
   * @throws MatchingUnavailableError when too many requests wait or the service does not answer; other methods do, too
   */
  abstract match(pickup: Position, gone?: AbortSignal): Promise<Match | undefined>;

  /** Finds free drivers, the nearest first. */
  abstract nearby(center: Position, radiusKm: number, limit: number, gone?: AbortSignal): Promise<NearbyDriver[]>;

  /** The factor by which the zone's fares are multiplied now. */
  abstract surgeFactor(zone: string, gone?: AbortSignal): Promise<number>;

  /** Takes positions in order: the last position of a driver counts. */
  abstract report(positions: readonly DriverPosition[]): Promise<void>;

  /** @throws ConflictException when too many zones have a factor */
  abstract setSurgeFactor(zone: string, factor: number): Promise<void>;

  /** All zones that have drivers or a surge factor of their own. */
  abstract zones(): Promise<ZoneSupply[]>;

  abstract statistics(): Promise<MatchingStatistics>;
}
