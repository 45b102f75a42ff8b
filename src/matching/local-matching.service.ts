import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { type ClaimedDriver, DriverIndex } from '../drivers/driver-index.js';
import type { Position } from '../geo/position.js';
import { Matching } from './matching.js';
import { WorkerPool } from './worker-pool.js';

/** Matching in this process: a pool of workers, each busy with one request for a fixed time. */
@Injectable()
export class LocalMatchingService extends Matching implements OnModuleDestroy {
  private readonly pool: WorkerPool;

  constructor(
    private readonly configuration: Configuration,
    private readonly drivers: DriverIndex,
  ) {
    super();
    this.pool = new WorkerPool(configuration.matching);
  }

  match(pickup: Position): Promise<ClaimedDriver | undefined> {
    const { matching, trips } = this.configuration;
    return this.pool.run(async () => {
      // Stands for the routing and scoring that a real search spends its time on.
      await new Promise((resolve) => setTimeout(resolve, matching.serviceMs));
      return this.drivers.claimNearest(pickup, matching.radiusKm, trips.durationMs);
    });
  }

  async onModuleDestroy(): Promise<void> {
    await this.pool.close();
  }
}
