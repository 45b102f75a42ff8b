import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import request from 'supertest';
import { PAYMENT_CALLS } from '../../src/limits/policies.js';
import { PaymentProvider } from '../../src/trips/tip/payment-provider.js';
import { until } from '../support/faults/until.js';
import { RIDE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

let service: Service;

afterEach(() => service.app.close());

async function trip(riderId: string): Promise<string> {
  const { body } = await request(service.url)
    .post('/api/rides/request')
    .send({ ...RIDE, rider_id: riderId });
  service.clock.ms += 30_000;
  return body.trip_id as string;
}

const tip = (riderId: string, tripId: string, amount_cents: unknown = 200): request.Test =>
  request(service.url).post(`/api/trips/${tripId}/tip`).set('X-User-Id', riderId).send({ amount_cents });

/** The instants at which the provider is called: milliseconds of the limits' clock. */
function calls({ app, limitsClock }: Service): number[] {
  const provider = app.get(PaymentProvider, { strict: false });
  const charge = provider.charge.bind(provider);
  const seen: number[] = [];
  provider.charge = async (...args) => {
    seen.push(limitsClock.nowMs);
    return charge(...args);
  };
  return seen;
}

describe('tips', () => {
  it('call the provider evenly, one each 20 ms, and none after it said that it is busy', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const { limitsClock } = service;
    const tripId = await trip('rider-1');
    const seen = calls(service);
    const since = limitsClock.nowMs;
    const answers = Promise.all(Array.from({ length: 5 }, async () => tip('rider-1', tripId)));
    await limitsClock.untilWaiting(4, { within: '20s' });
    for (let called = 2; called <= 5; called++) {
      limitsClock.advance('20ms');
      await until('the next call', 10_000, () => seen.length === called);
    }
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(seen.map((at) => at - since)).toEqual([0, 20, 40, 60, 80]);
    await service.app.get(RateLimiter, { strict: false }).pause(PAYMENT_CALLS, null, { for: 60_000 });
    const { headers } = await tip('rider-1', tripId).expect(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(50);
    expect(seen).toHaveLength(5);
  });
});
