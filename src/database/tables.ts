import type { Generated, Insertable } from 'kysely';

/** The tables, the same in PostgreSQL and in SQLite. Times are milliseconds since 1970. */
export interface Tables {
  riders: RidersTable;
  trips: TripsTable;
  zone_traffic: ZoneTrafficTable;
  written_batches: WrittenBatchesTable;
}

export interface RidersTable {
  id: string;
  plan: string;
  time_zone: string;
  email: string;
  password_hash: string;
}

export interface TripsTable {
  /** Ascends with every insert: it orders the trips that start in the same millisecond. */
  seq: Generated<number>;
  id: string;
  rider_id: string;
  driver_id: string;
  pickup_lat: number;
  pickup_lng: number;
  dropoff_lat: number;
  dropoff_lng: number;
  metres: number;
  fare_cents: number;
  fare_currency: string;
  starts_at: number;
  ends_at: number;
}

export type TripRow = Insertable<TripsTable>;

export interface ZoneTrafficTable {
  zone: string;
  estimates: number;
  requests: number;
  matched: number;
  no_driver: number;
  unavailable: number;
  counted_at: number;
}

/** The batches of increments that were written lately, so that a retry adds none of them a second time. */
export interface WrittenBatchesTable {
  id: string;
  written_at: number;
}
