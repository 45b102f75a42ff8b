import type { OnModuleDestroy } from '@nestjs/common';
import type { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import type { DriverIndex, DriverPosition, NearbyDriver } from './drivers/driver-index.js';
import { LocalDriverIndex } from './drivers/local-driver-index.js';
import { seededDrivers } from './drivers/seeded-drivers.js';
import type { Position } from '../geo/position.js';
import { zoneOf } from '../geo/zone.js';
import type { Clock } from '../time/clock.js';
import type { MatchingStatistics } from './matching-statistics.js';
import { type Match, Matching, type ZoneSupply } from './matching.js';
import { SurgeFactors } from './surge-factors.js';
import { WorkerPool } from './worker-pool.js';

const NO_DRIVERS = { free: 0, busy: 0 };

/** Matching in this process: each worker of a pool is busy with one request for a fixed time. */
export class LocalMatchingService extends Matching implements OnModuleDestroy {
  private readonly pool: WorkerPool;

  constructor(
    private readonly config: ConfigService<Configuration, true>,
    private readonly drivers: DriverIndex,
    private readonly surge: SurgeFactors,
  ) {
    super();
    this.pool = new WorkerPool(config.get('matching', { infer: true }));
  }

  /** Keeps the drivers in memory and begins with the seeded ones. */
  static create(config: ConfigService<Configuration, true>, clock: Clock): LocalMatchingService {
    const limits = config.get('drivers', { infer: true });
    const drivers = new LocalDriverIndex(clock, limits);
    drivers.station(seededDrivers(limits.seeded));
    return new LocalMatchingService(config, drivers, new SurgeFactors());
  }

  match(pickup: Position, gone?: AbortSignal): Promise<Match | undefined> {
    const { radiusKm } = this.config.get('matching', { infer: true });
    const { durationMs } = this.config.get('trips', { infer: true });
    const surgeFactor = this.surge.of(zoneOf(pickup));
    return this.work(async () => {
      const driver = await this.drivers.claimNearest(pickup, radiusKm, durationMs);
      return driver && { ...driver, surgeFactor };
    }, gone);
  }

  nearby(center: Position, radiusKm: number, limit: number, gone?: AbortSignal): Promise<NearbyDriver[]> {
    return this.work(() => this.drivers.nearby(center, radiusKm, limit), gone);
  }

  surgeFactor(zone: string, gone?: AbortSignal): Promise<number> {
    return this.work(async () => this.surge.of(zone), gone);
  }

  report(positions: readonly DriverPosition[]): Promise<void> {
    return this.drivers.report(positions);
  }

  async setSurgeFactor(zone: string, factor: number): Promise<void> {
    this.surge.set(zone, factor);
  }

  async zones(): Promise<ZoneSupply[]> {
    const counts = await this.drivers.countsByZone();
    const zones = new Set([...counts.keys(), ...this.surge.zones()]);
    return Array.from(zones, (zone) => ({
      zone,
      ...(counts.get(zone) ?? NO_DRIVERS),
      surgeFactor: this.surge.of(zone),
    }));
  }

  async statistics(): Promise<MatchingStatistics> {
    return this.pool.statistics();
  }

  async onModuleDestroy(): Promise<void> {
    await this.pool.close();
  }

  /** Takes a worker for a fixed time, which stands for the routing and scoring of a real search. */
  private work<T>(finish: () => Promise<T>, gone: AbortSignal | undefined): Promise<T> {
    const { serviceMs, cancels } = this.config.get('matching', { infer: true });
    const cancelled = cancels ? gone : undefined;
    return this.pool.run(async () => {
      await new Promise((resolve) => setTimeout(resolve, serviceMs));
      // A match for a rider who has left would keep its driver from others for a whole trip.
      cancelled?.throwIfAborted();
      return finish();
    }, cancelled);
  }
}
