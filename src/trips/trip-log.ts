import { Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { type Selectable, sql, type Transaction } from 'kysely';
import type { Configuration } from '../config/configuration.js';
import { Database } from '../database/database.js';
import type { Tables, TripRow, TripsTable } from '../database/tables.js';
import { WriteBehind } from '../database/write-behind.js';
import { Clock } from '../time/clock.js';
import type { Trip } from './trip.js';

/** Trips that wait for an unavailable database: a minute of the most that matching can hold. */
const MAX_PENDING = 10_000;
/** The share of all trips that may be too many, so that not every batch has to look for the oldest. */
const SLACK = 0.01;

/**
 * The last trips of each rider, in the database. A trip is written soon after it was recorded, and before this process reads.
 *
 * Beyond the limit for all riders the oldest trips are deleted.
 */
@Injectable()
export class TripLog {
  private readonly pending: TripRow[] = [];
  private readonly writes: WriteBehind<TripRow>;
  private readonly kept: number;
  private readonly keptPerRider: number;
  private writtenSinceCleaning = 0;

  constructor(
    private readonly clock: Clock,
    config: ConfigService<Configuration, true>,
    private readonly database: Database,
  ) {
    const { kept, keptPerRider } = config.get('trips', { infer: true });
    this.kept = kept;
    this.keptPerRider = Math.min(keptPerRider, kept);
    this.writes = new WriteBehind(database, {
      name: 'trips',
      size: () => this.pending.length,
      take: (max) => this.pending.splice(0, max),
      write: (db, rows) => this.write(db, rows),
    });
  }

  record(trip: Trip): void {
    if (this.pending.length >= MAX_PENDING) {
      this.writes.drop(1, `${MAX_PENDING} wait for the database`);
      return;
    }
    this.pending.push(toRow(trip));
    this.writes.added();
  }

  /** The rider's finished trips, the latest first. @throws DatabaseUnavailableError */
  async ridden(riderId: string, limit: number): Promise<Trip[]> {
    await this.writes.flush();
    const rows = await this.database.run((db) =>
      db
        .selectFrom('trips')
        .selectAll()
        .where('rider_id', '=', riderId)
        .where('ends_at', '<=', this.clock.now())
        .orderBy('starts_at', 'desc')
        .orderBy('seq', 'desc')
        .limit(limit)
        .execute(),
    );
    return rows.map(toTrip);
  }

  private async write(db: Transaction<Tables>, rows: readonly TripRow[]): Promise<void> {
    // A retry may find trips that an earlier try has written without its answer.
    await db
      .insertInto('trips')
      .values(rows)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    await this.deleteOldestOf(db, [...new Set(rows.map((row) => row.rider_id))]);
    this.writtenSinceCleaning += rows.length;
    if (this.writtenSinceCleaning < SLACK * this.kept) return;
    this.writtenSinceCleaning = 0;
    await this.deleteOldest(db);
  }

  private async deleteOldestOf(db: Transaction<Tables>, riders: readonly string[]): Promise<void> {
    const ranked = db
      .selectFrom('trips')
      .select([
        'seq',
        sql<number>`row_number() over (partition by rider_id order by starts_at desc, seq desc)`.as('rank'),
      ])
      .where('rider_id', 'in', riders)
      .as('ranked');
    await db
      .deleteFrom('trips')
      .where('seq', 'in', db.selectFrom(ranked).select('ranked.seq').where('ranked.rank', '>', this.keptPerRider))
      .execute();
  }

  private async deleteOldest(db: Transaction<Tables>): Promise<void> {
    const first = await db
      .selectFrom('trips')
      .select('seq')
      .orderBy('seq', 'desc')
      .limit(1)
      .offset(this.kept)
      .executeTakeFirst();
    if (first !== undefined) await db.deleteFrom('trips').where('seq', '<=', first.seq).execute();
  }
}

function toRow({ id, riderId, driverId, pickup, dropoff, metres, fare, startsAt, endsAt }: Trip): TripRow {
  return {
    id,
    rider_id: riderId,
    driver_id: driverId,
    pickup_lat: pickup.lat,
    pickup_lng: pickup.lng,
    dropoff_lat: dropoff.lat,
    dropoff_lng: dropoff.lng,
    metres,
    fare_cents: fare.amount_cents,
    fare_currency: fare.currency,
    starts_at: startsAt,
    ends_at: endsAt,
  };
}

function toTrip(row: Selectable<TripsTable>): Trip {
  return {
    id: row.id,
    riderId: row.rider_id,
    driverId: row.driver_id,
    pickup: { lat: row.pickup_lat, lng: row.pickup_lng },
    dropoff: { lat: row.dropoff_lat, lng: row.dropoff_lng },
    metres: row.metres,
    fare: { amount_cents: row.fare_cents, currency: row.fare_currency as Trip['fare']['currency'] },
    startsAt: row.starts_at,
    endsAt: row.ends_at,
  };
}
