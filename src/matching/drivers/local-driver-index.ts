import { keyedQueue } from '../../collections/keyed-queue.js';
import { type Entry, type Found, PositionTree, snapped } from '../../geo/position-tree.js';
import type { Position } from '../../geo/position.js';
import { zoneOf } from '../../geo/zone.js';
import type { Clock } from '../../time/clock.js';
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
  zone: string;
  /** When the index forgets the driver unless they report; Infinity for a driver who never reported. */
  silentAt: number;
  /** The number of the driver's last report. Numbers increase with each report of any driver. */
  report: number;
  /** The driver's entry among the free drivers; undefined on a trip. */
  entry: Entry<Driver> | undefined;
  /** Whether the driver is in `silences`. */
  watched: boolean;
}

export interface DriverLimits {
  readonly max: number;
  readonly timeoutMs: number;
}

/**
 * The index of one process, in memory. Each method reads and writes without yielding, which makes a claim atomic.
 *
 * The tree holds free drivers only, so that a search never has to skip others. The next call of any method ends the trips and
 * silences that are over.
 */
export class LocalDriverIndex extends DriverIndex {
  private readonly drivers = new Map<string, Driver>();
  private readonly free = new PositionTree<Driver>();
  /** Drivers on a trip, by the end of the trip. */
  private readonly trips = keyedQueue<Driver>();
  /**
   * Drivers that report, by the number of one of their reports, which may not be the last one. Each driver is here at most
   * once. Drivers on a trip may be missing.
   */
  private readonly silences = keyedQueue<Driver>();
  private readonly zones = new Map<string, { free: number; busy: number }>();
  private reporting = 0;
  private reports = 0;

  constructor(
    private readonly clock: Clock,
    private readonly limits: DriverLimits,
  ) {
    super();
  }

  /** Positions and boxes that all searches have compared so far. */
  get looks(): number {
    return this.free.looks;
  }

  /** Places drivers that are never silent until they report: the seeded ones. */
  station(positions: readonly DriverPosition[]): void {
    for (const position of positions) this.place(position);
  }

  async report(positions: readonly DriverPosition[]): Promise<void> {
    const now = this.settle();
    for (const position of positions) {
      const driver = this.place(position);
      if (driver.silentAt === Infinity) this.reporting++;
      driver.silentAt = now + this.limits.timeoutMs;
      driver.report = ++this.reports;
      this.watch(driver);
    }
    this.forgetSilent(now);
  }

  async nearby(center: Position, radiusKm: number, limit: number): Promise<NearbyDriver[]> {
    this.settle();
    return this.free.nearest(center, radiusKm, limit).map(asNearby);
  }

  async claimNearest(center: Position, radiusKm: number, leaseMs: number): Promise<ClaimedDriver | undefined> {
    const now = this.settle();
    const [found] = this.free.nearest(center, radiusKm, 1);
    if (!found) return undefined;
    const driver = found.entry.item;
    this.leave(driver);
    driver.entry = undefined;
    this.enter(driver);
    const freeAt = now + leaseMs;
    this.trips.push({ key: freeAt, item: driver });
    return { ...asNearby(found), claimedAt: now, freeAt };
  }

  async countsByZone(): Promise<ReadonlyMap<string, DriverCounts>> {
    this.settle();
    return new Map(Array.from(this.zones, ([zone, counts]) => [zone, { ...counts }]));
  }

  private place({ driverId, ...reported }: DriverPosition): Driver {
    const { lat, lng } = snapped(reported);
    let driver = this.drivers.get(driverId);
    const busy = driver !== undefined && driver.entry === undefined;
    if (driver) {
      this.leave(driver);
      driver.lat = lat;
      driver.lng = lng;
    } else {
      driver = { id: driverId, lat, lng, zone: '', silentAt: Infinity, report: 0, entry: undefined, watched: false };
      this.drivers.set(driverId, driver);
    }
    driver.zone = zoneOf(driver);
    if (!busy) driver.entry = this.free.add(driver, driver);
    this.enter(driver);
    return driver;
  }

  /** Ends trips and silences that are over. @returns the current time */
  private settle(): number {
    const now = this.clock.now();
    for (let next = this.trips.peek(); next !== undefined && next.key <= now; next = this.trips.peek()) {
      const driver = next.item;
      this.trips.pop();
      this.leave(driver);
      driver.entry = this.free.add(driver, driver);
      this.enter(driver);
      this.watch(driver);
    }
    this.forgetSilent(now);
    return now;
  }

  /** Forgets silent drivers and those beyond the limit, the longest silent first, but no driver on a trip. */
  private forgetSilent(now: number): void {
    for (let next = this.silences.peek(); next !== undefined; next = this.silences.peek()) {
      const driver = next.item;
      const latest = next.key === driver.report;
      if (latest && driver.silentAt > now && this.reporting <= this.limits.max) return;
      this.silences.pop();
      driver.watched = false;
      if (!latest) this.watch(driver);
      // A driver who is forgotten during a trip would look free after the next report, and a second rider would get them.
      else if (driver.entry !== undefined) this.forget(driver);
    }
  }

  private watch(driver: Driver): void {
    if (driver.watched || driver.silentAt === Infinity) return;
    driver.watched = true;
    this.silences.push({ key: driver.report, item: driver });
  }

  private forget(driver: Driver): void {
    this.leave(driver);
    this.drivers.delete(driver.id);
    this.reporting--;
  }

  /** Counts the driver in their zone, as free or as busy. */
  private enter({ zone, entry }: Driver): void {
    let counts = this.zones.get(zone);
    if (!counts) this.zones.set(zone, (counts = { free: 0, busy: 0 }));
    counts[entry ? 'free' : 'busy']++;
  }

  /** Removes the driver from the counts of their zone and, if they are free, from the tree. */
  private leave({ zone, entry }: Driver): void {
    const counts = this.zones.get(zone)!;
    counts[entry ? 'free' : 'busy']--;
    if (counts.free + counts.busy === 0) this.zones.delete(zone);
    if (entry) this.free.remove(entry);
  }
}

function asNearby({ entry: { item, lat, lng }, distanceKm }: Found<Driver>): NearbyDriver {
  return { driverId: item.id, lat, lng, distanceKm };
}
