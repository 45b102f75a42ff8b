import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { Routes } from '../../src/limits/routes.js';
import { TripLog } from '../../src/trips/trip-log.js';
import { until } from '../support/faults/until.js';
import { type Service, start } from './support/start-app.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

let service: Service;

afterEach(() => service.app.close());

/** More rows than the buffers between a server and a client that does not read hold. */
const ROWS = 10_000;
const LONG_NAME = 'x'.repeat(900);
const LARGE = { TRIPS_KEPT: '50000', TRIPS_KEPT_PER_RIDER: `${ROWS}`, RATE_LIMIT: 'on' };

function ride(rows: number): void {
  const log = service.app.get(TripLog, { strict: false });
  const [startsAt, endsAt] = [service.clock.ms - 60_000, service.clock.ms - 30_000];
  const [pickup, dropoff] = [
    { lat: 40.7505, lng: -73.9934 },
    { lat: 40.7484, lng: -73.9857 },
  ];
  const common = { riderId: 'rider-1', pickup, dropoff, metres: 689, startsAt, endsAt };
  const fare = { amount_cents: 800, currency: 'USD' } as const;
  for (let i = 0; i < rows; i++) {
    log.record({ ...common, fare, id: `trip-${i}`, driverId: `${LONG_NAME}-${i}` });
  }
}

/** Asks for an export, and does not read the answer beyond its headers. */
async function hold(riderId = 'rider-1'): Promise<Socket> {
  const { port } = new URL(service.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`GET /api/trips/export HTTP/1.1\r\nHost: localhost\r\nX-User-Id: ${riderId}\r\n\r\n`);
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  expect(data.toString()).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  return socket;
}

const fetchAll = (riderId = 'rider-1'): request.Test =>
  request(service.url).get('/api/trips/export').set('X-User-Id', riderId);

async function inFlight(riderId = 'rider-1'): Promise<number> {
  const routes = service.app.get(Routes, { strict: false });
  const decision = await routes.peek(routes.find('GET', '/api/trips/export'), { kind: 'user', value: riderId });
  const { limit, remaining } = decision.policies[0]!;
  return limit - remaining;
}

const free = (count: number): Promise<boolean> =>
  until(`${count} exports in flight`, 5_000, async () => (await inFlight()) === count || undefined).then(() => true);

describe('exports', () => {
  it('run two at once for a rider, and are free again when clients hang up in the middle', async () => {
    service = await start(LARGE);
    ride(ROWS);
    const [one, other] = [await hold(), await hold()];
    expect(await inFlight()).toBe(2);
    const { body, headers } = await fetchAll().expect(429);
    expect(body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'exports' });
    expect(headers['retry-after']).toBe('1');
    await fetchAll('rider-2').expect(200);

    one.destroy();
    expect(await free(1)).toBe(true);
    const third = await hold();
    await fetchAll().expect(429);
    other.destroy();
    third.destroy();
    expect(await free(0)).toBe(true);
  });
});
