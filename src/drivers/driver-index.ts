import type { Position } from '../geo/position.js';

export interface DriverPosition extends Position {
  readonly driverId: string;
}

export interface NearbyDriver extends DriverPosition {
  readonly distanceKm: number;
}

export interface ClaimedDriver extends NearbyDriver {
  /** Milliseconds since the epoch, as is `freeAt`, when the claim ends by itself. */
  readonly claimedAt: number;
  readonly freeAt: number;
}

export interface DriverCounts {
  readonly free: number;
  readonly busy: number;
}

/** Where the drivers are, and which of them are free. Asynchronous, as an index outside of the process has to be. */
export abstract class DriverIndex {
  /** In order: the last position of a driver is the one that counts. */
  abstract report(positions: readonly DriverPosition[]): Promise<void>;

  /** Free drivers, the nearest first. */
  abstract nearby(center: Position, radiusKm: number, limit: number): Promise<NearbyDriver[]>;

  /**
   * Takes the nearest free driver for a while. Of any number of concurrent claims a driver is given to one only.
   * A claim ends by itself, so a rider's process that dies does not take its drivers along.
   */
  abstract claimNearest(center: Position, radiusKm: number, leaseMs: number): Promise<ClaimedDriver | undefined>;

  abstract countsByZone(): Promise<ReadonlyMap<string, DriverCounts>>;
}
