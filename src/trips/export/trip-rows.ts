import { pipeline, Readable } from 'node:stream';
import { stringify } from 'csv-stringify';
import type { Trip } from '../trip.js';

const COLUMNS = [
  'trip_id',
  'driver_id',
  'started_at',
  'ended_at',
  'pickup_lat',
  'pickup_lng',
  'dropoff_lat',
  'dropoff_lng',
  'distance_m',
  'fare_cents',
  'currency',
];

/** The trips as CSV (RFC 4180), a header first. Rows are written as they are read: a client that goes ends the work. */
export function toCsv(trips: Iterable<Trip>): Readable {
  const csv = stringify({ header: true, columns: COLUMNS, record_delimiter: '\r\n' });
  // The reader of the stream learns of an error by the stream itself.
  pipeline(Readable.from(rowsOf(trips)), csv, () => undefined);
  return csv;
}

function* rowsOf(trips: Iterable<Trip>): Generator<readonly unknown[]> {
  for (const { id, driverId, startsAt, endsAt, pickup, dropoff, metres, fare } of trips) {
    const times = [startsAt, endsAt].map((ms) => new Date(ms).toISOString());
    const positions = [pickup.lat, pickup.lng, dropoff.lat, dropoff.lng];
    yield [id, driverId, ...times, ...positions, metres, fare.amount_cents, fare.currency];
  }
}
