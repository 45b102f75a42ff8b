import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import type { MatchingStatistics } from '../matching/matching-statistics.js';
import { Matching } from '../matching/matching.js';
import { ZoneTraffic } from '../zones/zone-traffic.js';

const RESULTS = ['matched', 'no_driver', 'unavailable'] as const;

/** The load of matching, and the outcomes of this process's ride requests. A scrape asks matching. */
@Injectable()
export class MatchingMetrics {
  private asked: Promise<MatchingStatistics | undefined> | undefined;

  constructor(
    registry: Registry,
    private readonly matching: Matching,
    traffic: ZoneTraffic,
  ) {
    this.gauge(
      registry,
      'ride_hailing_matching_utilisation',
      "Busy share of the matching workers' time in the last seconds, 0 to 1",
      ({ recent }) => recent.utilisation,
    );
    this.gauge(
      registry,
      'ride_hailing_matching_queue',
      'Requests that wait for a matching worker',
      ({ waiting }) => waiting,
    );
    const results = new Counter({
      name: 'ride_hailing_matching_requests_total',
      help: 'Ride requests of this process to matching, by result',
      labelNames: ['result'],
      registers: [registry],
      collect: () => {
        results.reset();
        for (const result of RESULTS) results.inc({ result }, traffic.total(result));
      },
    });
  }

  private gauge(
    registry: Registry,
    name: string,
    help: string,
    value: (statistics: MatchingStatistics) => number,
  ): void {
    const gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => {
        const statistics = await this.statistics();
        if (statistics === undefined)
          gauge.remove(); // no value is better than a wrong one
        else gauge.set(value(statistics));
      },
    });
  }

  /** Shared by both gauges; undefined while the matching service is unavailable. */
  private statistics(): Promise<MatchingStatistics | undefined> {
    this.asked ??= this.matching
      .statistics()
      .catch(() => undefined)
      .finally(() => (this.asked = undefined));
    return this.asked;
  }
}
