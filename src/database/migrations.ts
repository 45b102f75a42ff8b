import type { Kysely, Migration } from 'kysely';
import { DEMO_RIDERS } from './demo-riders.js';
import type { Tables } from './tables.js';

export type Dialect = 'postgres' | 'sqlite';

/** The migrations by name, in order. One that was released never changes: a database may have run it. */
export function migrationsFor(dialect: Dialect): Record<string, Migration> {
  return {
    '0001_riders': { up: createRiders },
    '0002_trips': { up: (db) => createTrips(db, dialect) },
    '0003_zone_traffic': { up: createZoneTraffic },
  };
}

async function createRiders(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('riders')
    .addColumn('id', 'varchar(64)', (column) => column.primaryKey())
    .addColumn('plan', 'varchar(16)', (column) => column.notNull())
    .addColumn('time_zone', 'varchar(64)', (column) => column.notNull())
    .addColumn('email', 'varchar(254)', (column) => column.notNull().unique())
    .addColumn('password_hash', 'varchar(255)', (column) => column.notNull())
    .execute();
  await db.insertInto('riders').values(DEMO_RIDERS).execute();
}

async function createTrips(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('trips')
    // In SQLite an `integer primary key` numbers the rows by itself.
    .addColumn('seq', dialect === 'postgres' ? 'bigserial' : 'integer', (column) => column.primaryKey())
    .addColumn('id', 'varchar(36)', (column) => column.notNull().unique())
    .addColumn('rider_id', 'varchar(64)', (column) => column.notNull())
    .addColumn('driver_id', 'varchar(64)', (column) => column.notNull())
    .addColumn('pickup_lat', 'double precision', (column) => column.notNull())
    .addColumn('pickup_lng', 'double precision', (column) => column.notNull())
    .addColumn('dropoff_lat', 'double precision', (column) => column.notNull())
    .addColumn('dropoff_lng', 'double precision', (column) => column.notNull())
    .addColumn('metres', 'double precision', (column) => column.notNull())
    .addColumn('fare_cents', 'integer', (column) => column.notNull())
    .addColumn('fare_currency', 'varchar(3)', (column) => column.notNull())
    .addColumn('starts_at', 'bigint', (column) => column.notNull())
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('trips_of_rider').on('trips').columns(['rider_id', 'starts_at', 'seq']).execute();
}

async function createZoneTraffic(db: Kysely<Tables>): Promise<void> {
  await db.schema
    .createTable('zone_traffic')
    .addColumn('zone', 'varchar(64)', (column) => column.primaryKey())
    .addColumn('estimates', 'bigint', (column) => column.notNull())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addColumn('matched', 'bigint', (column) => column.notNull())
    .addColumn('no_driver', 'bigint', (column) => column.notNull())
    .addColumn('unavailable', 'bigint', (column) => column.notNull())
    .addColumn('counted_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('zone_traffic_counted_at').on('zone_traffic').column('counted_at').execute();
  await db.schema
    .createTable('written_batches')
    .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
    .addColumn('written_at', 'bigint', (column) => column.notNull())
    .execute();
}
