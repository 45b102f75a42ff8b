import { Injectable } from '@nestjs/common';
import { DriverIndex } from '../drivers/driver-index.js';
import { SurgeFactors } from './surge-factors.js';
import { type ZoneCounts, ZoneTraffic } from './zone-traffic.js';

export interface ZoneStats extends ZoneCounts {
  readonly zone: string;
  readonly drivers_free: number;
  readonly drivers_busy: number;
  readonly surge_factor: number;
}

const NO_DRIVERS = { free: 0, busy: 0 };

@Injectable()
export class ZoneStatsService {
  constructor(
    private readonly traffic: ZoneTraffic,
    private readonly surge: SurgeFactors,
    private readonly drivers: DriverIndex,
  ) {}

  /** Every zone with traffic, drivers or a surge, the most requested first. */
  async stats(limit: number): Promise<ZoneStats[]> {
    const drivers = await this.drivers.countsByZone();
    const zones = new Set([...this.traffic.zones(), ...this.surge.zones(), ...drivers.keys()]);
    return Array.from(zones, (zone): ZoneStats => {
      const { free, busy } = drivers.get(zone) ?? NO_DRIVERS;
      const surge_factor = this.surge.of(zone);
      return { zone, ...this.traffic.of(zone), drivers_free: free, drivers_busy: busy, surge_factor };
    })
      .toSorted((a, b) => b.requests - a.requests || b.estimates - a.estimates || b.drivers_free - a.drivers_free)
      .slice(0, limit);
  }
}
