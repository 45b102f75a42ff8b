import { Injectable } from '@nestjs/common';
import { sql, type Transaction } from 'kysely';
import { Database } from '../database/database.js';
import type { Tables } from '../database/tables.js';
import { WriteBehind } from '../database/write-behind.js';
import { Clock } from '../time/clock.js';

/** Counted events of a zone. Every ride request ends as `matched`, `no_driver` or `unavailable`. */
export type ZoneEvent = 'estimates' | 'requests' | 'matched' | 'no_driver' | 'unavailable';

export type ZoneCounts = Readonly<Record<ZoneEvent, number>>;

type Increment = Record<ZoneEvent, number> & { readonly zone: string };

const MAX_ZONES = 10_000;
/** Zones that were written before the least recent zones are deleted. */
const WRITES_PER_CLEANING = MAX_ZONES / 100;
/** Longer than a try of a batch can be under way, by far. */
const BATCHES_KEPT_MS = 3_600_000;

export const NO_TRAFFIC: ZoneCounts = { estimates: 0, requests: 0, matched: 0, no_driver: 0, unavailable: 0 };
const EVENTS = Object.keys(NO_TRAFFIC) as readonly ZoneEvent[];

/**
 * Counts requests by zone, for all processes together. The increments of this process are added to the database soon after,
 * and before this process reads.
 *
 * Clients can name any zone, so the number of zones is bounded: the least recent one makes room. Its counts stay in the total.
 */
@Injectable()
export class ZoneTraffic {
  private readonly totals = { ...NO_TRAFFIC };
  private readonly pending = new Map<string, Increment>();
  private readonly writes: WriteBehind<Increment>;
  private writtenSinceCleaning = 0;

  constructor(
    private readonly clock: Clock,
    private readonly database: Database,
  ) {
    this.writes = new WriteBehind(database, {
      name: 'zones',
      size: () => this.pending.size,
      take: (max) => this.take(max),
      write: (db, increments, batch) => this.write(db, increments, batch),
    });
  }

  count(zone: string, event: ZoneEvent): void {
    this.totals[event]++;
    let increment = this.pending.get(zone);
    if (increment === undefined) {
      if (this.pending.size >= MAX_ZONES) {
        this.writes.drop(1, `the counts of ${MAX_ZONES} others wait for the database`);
        return;
      }
      this.pending.set(zone, (increment = { zone, ...NO_TRAFFIC }));
    }
    increment[event]++;
    this.writes.added();
  }

  /** The counts of all zones that have any, of all processes. @throws DatabaseUnavailableError */
  async counts(): Promise<Map<string, ZoneCounts>> {
    await this.writes.flush();
    const rows = await this.database.run((db) =>
      db
        .selectFrom('zone_traffic')
        .select(['zone', ...EVENTS])
        .orderBy('zone')
        .execute(),
    );
    return new Map(rows.map(({ zone, ...counts }) => [zone, counts]));
  }

  /** The count of all zones since the start of this process. */
  total(event: ZoneEvent): number {
    return this.totals[event];
  }

  private take(max: number): Increment[] {
    const taken: Increment[] = [];
    for (const [zone, increment] of this.pending) {
      if (taken.length === max) break;
      taken.push(increment);
      this.pending.delete(zone);
    }
    // Two processes lock rows in the same order, or PostgreSQL ends one of them as a deadlock.
    return taken.toSorted((a, b) => (a.zone < b.zone ? -1 : 1));
  }

  private async write(db: Transaction<Tables>, increments: readonly Increment[], batch: string): Promise<void> {
    const now = this.clock.now();
    const first = await db
      .insertInto('written_batches')
      .values({ id: batch, written_at: now })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .executeTakeFirst();
    // An earlier try was written although it got no answer.
    if (first === undefined) return;
    await db
      .insertInto('zone_traffic')
      .values(increments.map((increment) => ({ ...increment, counted_at: now })))
      .onConflict((conflict) =>
        conflict.column('zone').doUpdateSet({
          ...Object.fromEntries(
            EVENTS.map((event) => [event, sql`zone_traffic.${sql.ref(event)} + excluded.${sql.ref(event)}`]),
          ),
          counted_at: now,
        }),
      )
      .execute();
    this.writtenSinceCleaning += increments.length;
    if (this.writtenSinceCleaning < WRITES_PER_CLEANING) return;
    this.writtenSinceCleaning = 0;
    await this.clean(db, now);
  }

  private async clean(db: Transaction<Tables>, now: number): Promise<void> {
    const tooOld = db
      .selectFrom('zone_traffic')
      .select('zone')
      .orderBy('counted_at', 'desc')
      .limit(MAX_ZONES)
      .offset(MAX_ZONES);
    await db.deleteFrom('zone_traffic').where('zone', 'in', tooOld).execute();
    await db
      .deleteFrom('written_batches')
      .where('written_at', '<', now - BATCHES_KEPT_MS)
      .execute();
  }
}
