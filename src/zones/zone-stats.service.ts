import { Injectable } from '@nestjs/common';
import { Matching } from '../matching/matching.js';
import { NO_TRAFFIC, type ZoneCounts, ZoneTraffic } from './zone-traffic.js';

export interface ZoneStats extends ZoneCounts {
  readonly zone: string;
  readonly drivers_free: number;
  readonly drivers_busy: number;
  readonly surge_factor: number;
}

const NO_SUPPLY = { free: 0, busy: 0, surgeFactor: 1 };

@Injectable()
export class ZoneStatsService {
  constructor(
    private readonly traffic: ZoneTraffic,
    private readonly matching: Matching,
  ) {}

  /** All zones that have traffic, drivers or a surge factor, the most requested first. */
  async stats(limit: number): Promise<ZoneStats[]> {
    const [traffic, supplied] = await Promise.all([this.traffic.counts(), this.matching.zones()]);
    const supply = new Map(supplied.map((zone) => [zone.zone, zone]));
    const zones = new Set([...traffic.keys(), ...supply.keys()]);
    return Array.from(zones, (zone): ZoneStats => {
      const { free, busy, surgeFactor } = supply.get(zone) ?? NO_SUPPLY;
      return {
        zone,
        ...(traffic.get(zone) ?? NO_TRAFFIC),
        drivers_free: free,
        drivers_busy: busy,
        surge_factor: surgeFactor,
      };
    })
      .toSorted((a, b) => b.requests - a.requests || b.estimates - a.estimates || b.drivers_free - a.drivers_free)
      .slice(0, limit);
  }
}
