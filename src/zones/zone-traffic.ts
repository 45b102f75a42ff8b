import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

/** Counted events of a zone. Every ride request ends as `matched`, `no_driver` or `unavailable`. */
export type ZoneEvent = 'estimates' | 'requests' | 'matched' | 'no_driver' | 'unavailable';

export type ZoneCounts = Readonly<Record<ZoneEvent, number>>;

const MAX_ZONES = 10_000;
const NOTHING: ZoneCounts = { estimates: 0, requests: 0, matched: 0, no_driver: 0, unavailable: 0 };

/**
 * Counts the requests to this process by zone.
 *
 * Clients can name any zone, so the number of zones is bounded: the least recent one makes room. Its counts stay in the total.
 */
@Injectable()
export class ZoneTraffic {
  private readonly totals = { ...NOTHING };
  private readonly counts = new LRUCache<string, Record<ZoneEvent, number>>({ max: MAX_ZONES });

  count(zone: string, event: ZoneEvent): void {
    let counts = this.counts.get(zone);
    if (!counts) this.counts.set(zone, (counts = { ...NOTHING }));
    counts[event]++;
    this.totals[event]++;
  }

  of(zone: string): ZoneCounts {
    return this.counts.peek(zone) ?? NOTHING;
  }

  /** The count of all zones since the start. */
  total(event: ZoneEvent): number {
    return this.totals[event];
  }

  zones(): Iterable<string> {
    return this.counts.keys();
  }
}
