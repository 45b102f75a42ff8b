import type { Position } from '../../geo/position.js';

export interface DriverPosition extends Position {
  readonly driverId: string;
}

export interface NearbyDriver extends DriverPosition {
  readonly distanceKm: number;
}

export interface ClaimedDriver extends NearbyDriver {
  /** Milliseconds since 1970. */
  readonly claimedAt: number;
  /** The instant when the claim ends by itself, in milliseconds since 1970. */
  readonly freeAt: number;
}

export interface DriverCounts {
  readonly free: number;
  readonly busy: number;
}

/** The positions of drivers, and which drivers are free. Its methods are asynchronous, so that an index can be a service. */
export abstract class DriverIndex {
  /** Takes positions in order: the last position of a driver counts. */
  abstract report(positions: readonly DriverPosition[]): Promise<void>;

  /** Finds free drivers, the nearest first. */
  abstract nearby(center: Position, radiusKm: number, limit: number): Promise<NearbyDriver[]>;

  /**
   * Takes the nearest free driver for a while. Concurrent claims never get the same driver.
   *
   * A claim ends by itself, so a process that dies does not keep its drivers.
   */
  abstract claimNearest(center: Position, radiusKm: number, leaseMs: number): Promise<ClaimedDriver | undefined>;

  abstract countsByZone(): Promise<ReadonlyMap<string, DriverCounts>>;
}
