import { MinHeap } from '../collections/min-heap.js';
import { type Entry, type Found, PositionTree, snapped } from '../geo/position-tree.js';
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
  zone: string;
  /** When the driver has been silent for too long; Infinity for one who never reported. */
  silentAt: number;
  /** The number of the last report: who was heard of longest ago has the smallest. */
  report: number;
  /** Among the free ones; undefined on a trip. */
  entry: Entry<Driver> | undefined;
  /** Whether the driver is in `silences`. */
  watched: boolean;
}

export interface DriverLimits {
  readonly max: number;
  readonly timeoutMs: number;
}

/**
 * The index of one process, in memory: each method reads and writes without yielding, which is what makes a claim atomic.
 *
 * Only free drivers are in the tree, so that a search never passes by any number of others. Trips and silences end when the
 * next call finds them past: each once, whoever asks.
 */
export class LocalDriverIndex extends DriverIndex {
  private readonly drivers = new Map<string, Driver>();
  private readonly free = new PositionTree<Driver>();
  /** Drivers on a trip, by its end. */
  private readonly trips = new MinHeap<Driver>();
  /** Drivers that report, each at most once, by a report that may be followed by others. Those on a trip may be missing. */
  private readonly silences = new MinHeap<Driver>();
  private readonly zones = new Map<string, { free: number; busy: number }>();
  private reporting = 0;
  private reports = 0;

  constructor(
    private readonly clock: Clock,
    private readonly limits: DriverLimits,
  ) {
    super();
  }

  /** Positions and boxes that searches have looked at, since the start. */
  get looks(): number {
    return this.free.looks;
  }

  /** Places drivers that never fall silent: the seeded ones, until they report. */
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
    this.trips.push(freeAt, driver);
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

  /** Ends what is past by now. */
  private settle(): number {
    const now = this.clock.now();
    while (this.trips.firstKey <= now) {
      const driver = this.trips.pop()!;
      this.leave(driver);
      driver.entry = this.free.add(driver, driver);
      this.enter(driver);
      this.watch(driver);
    }
    this.forgetSilent(now);
    return now;
  }

  /** Forgets the silent and those above the limit, the longest silent first, but nobody on a trip. */
  private forgetSilent(now: number): void {
    for (let driver = this.silences.first; driver !== undefined; driver = this.silences.first) {
      const latest = this.silences.firstKey === driver.report;
      if (latest && driver.silentAt > now && this.reporting <= this.limits.max) return;
      this.silences.pop();
      driver.watched = false;
      if (!latest) this.watch(driver);
      // Forgotten during a trip, a driver who reports again would look free and be given to a second rider.
      else if (driver.entry !== undefined) this.forget(driver);
    }
  }

  private watch(driver: Driver): void {
    if (driver.watched || driver.silentAt === Infinity) return;
    driver.watched = true;
    this.silences.push(driver.report, driver);
  }

  private forget(driver: Driver): void {
    this.leave(driver);
    this.drivers.delete(driver.id);
    this.reporting--;
  }

  /** Is counted in its zone, as free or as busy. */
  private enter({ zone, entry }: Driver): void {
    let counts = this.zones.get(zone);
    if (!counts) this.zones.set(zone, (counts = { free: 0, busy: 0 }));
    counts[entry ? 'free' : 'busy']++;
  }

  /** Leaves its zone and, if it is free, the tree. */
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
