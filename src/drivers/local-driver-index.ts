import { CellGrid } from '../geo/cell-grid.js';
import type { Position } from '../geo/position.js';
import { zoneOf } from '../geo/zone.js';
import type { Clock } from '../time/clock.js';
import {
  type ClaimedDriver,
  type DriverCounts,
  DriverIndex,
  type DriverPosition,
  type NearbyDriver,
} from './driver-index.js';

interface Driver extends Position {
  readonly id: string;
  lat: number;
  lng: number;
  cell: string;
  zone: string;
  /** When the driver has been silent for too long. */
  silentAt: number;
  /** When the current or last trip ends. Nothing has to happen then: the driver is free because it is past. */
  freeAt: number;
}

export interface DriverLimits {
  readonly max: number;
  readonly timeoutMs: number;
}

/** The index of one process, in memory: each method reads and writes without yielding, which is what makes a claim atomic. */
export class LocalDriverIndex extends DriverIndex {
  private readonly drivers = new Map<string, Driver>();
  private readonly grid = new CellGrid<Driver>();
  /** Drivers that report, the longest silent first. */
  private readonly reporting = new Set<Driver>();

  constructor(
    private readonly clock: Clock,
    private readonly limits: DriverLimits,
  ) {
    super();
  }

  /** Places drivers that never fall silent: the seeded ones, until they report. */
  station(positions: readonly DriverPosition[]): void {
    for (const position of positions) this.place(position);
  }

  async report(positions: readonly DriverPosition[]): Promise<void> {
    const now = this.clock.now();
    for (const position of positions) {
      const driver = this.place(position);
      driver.silentAt = now + this.limits.timeoutMs;
      this.reporting.delete(driver);
      this.reporting.add(driver);
    }
    this.forgetSilent(now);
  }

  async nearby(center: Position, radiusKm: number, limit: number): Promise<NearbyDriver[]> {
    const now = this.clock.now();
    return [...this.grid.within(center, radiusKm)]
      .filter(({ item }) => isFree(item, now))
      .toSorted((a, b) => a.distanceKm - b.distanceKm)
      .slice(0, limit)
      .map(({ item: { id, lat, lng }, distanceKm }) => ({ driverId: id, lat, lng, distanceKm }));
  }

  async claimNearest(center: Position, radiusKm: number, leaseMs: number): Promise<ClaimedDriver | undefined> {
    const now = this.clock.now();
    const found = this.grid.nearest(center, radiusKm, (driver) => isFree(driver, now));
    if (!found) return undefined;
    const { item: driver, distanceKm } = found;
    driver.freeAt = now + leaseMs;
    return { driverId: driver.id, lat: driver.lat, lng: driver.lng, distanceKm, claimedAt: now, freeAt: driver.freeAt };
  }

  async countsByZone(): Promise<ReadonlyMap<string, DriverCounts>> {
    const now = this.clock.now();
    const counts = new Map<string, { free: number; busy: number }>();
    for (const driver of this.drivers.values()) {
      const busy = driver.freeAt > now;
      if (!busy && !isFree(driver, now)) continue;
      let zone = counts.get(driver.zone);
      if (!zone) counts.set(driver.zone, (zone = { free: 0, busy: 0 }));
      zone[busy ? 'busy' : 'free']++;
    }
    return counts;
  }

  private place({ driverId, lat, lng }: DriverPosition): Driver {
    let driver = this.drivers.get(driverId);
    if (driver) {
      this.grid.remove(driver, driver.cell);
      driver.lat = lat;
      driver.lng = lng;
    } else {
      driver = { id: driverId, lat, lng, cell: '', zone: '', silentAt: Infinity, freeAt: 0 };
      this.drivers.set(driverId, driver);
    }
    driver.cell = this.grid.add(driver);
    driver.zone = zoneOf(driver);
    return driver;
  }

  /** Forgets the silent and those above the limit. Here and not by a timer: only a report lets the index grow. */
  private forgetSilent(now: number): void {
    for (let looks = this.reporting.size; looks > 0; looks--) {
      const [driver] = this.reporting;
      if (!driver || (driver.silentAt > now && this.reporting.size <= this.limits.max)) return;
      this.reporting.delete(driver);
      // Forgotten during a trip, a driver who reports again would look free and be given to a second rider.
      if (driver.freeAt > now) this.reporting.add(driver);
      else this.forget(driver);
    }
  }

  private forget(driver: Driver): void {
    this.drivers.delete(driver.id);
    this.grid.remove(driver, driver.cell);
  }
}

function isFree(driver: Driver, now: number): boolean {
  return driver.freeAt <= now && driver.silentAt > now;
}
