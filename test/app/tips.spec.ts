import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import request from 'supertest';
import { PAYMENT_CALLS } from '../../src/limits/policies.js';
import { PaymentProvider } from '../../src/trips/tip/payment-provider.js';
import { RIDE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

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

/** The instants at which the provider is called. */
function calls(): number[] {
  const provider = service.app.get(PaymentProvider, { strict: false });
  const charge = provider.charge.bind(provider);
  const seen: number[] = [];
  provider.charge = async (...args) => {
    seen.push(performance.now());
    return charge(...args);
  };
  return seen;
}

describe.each(PLATFORMS)('tips over %s', (platform) => {
  it('are taken once for a trip, and for trips of the rider alone', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const tripId = await trip('rider-1');
    const { body } = await tip('rider-1', tripId).expect(200);
    expect(body).toEqual({ trip_id: tripId, payment_id: expect.stringMatching(/^pay-/), amount_cents: 200 });
    expect((await tip('rider-1', tripId).expect(200)).body).toEqual(body);
    await tip('rider-2', tripId).expect(404);
    for (const wrong of [0, 1.5, 10_001, '5', null]) await tip('rider-1', tripId, wrong).expect(400);
  });

  it('call the provider evenly, one each 20 ms, and none after it said that it is busy', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const tripId = await trip('rider-1');
    const seen = calls();
    const answers = await Promise.all(Array.from({ length: 5 }, async () => tip('rider-1', tripId)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(seen.at(-1)! - seen[0]!).toBeGreaterThan(4 * 20 - 10);
    await service.app.get(RateLimiter, { strict: false }).pause(PAYMENT_CALLS, null, { ms: 60_000 });
    const { headers } = await tip('rider-1', tripId).expect(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(50);
    expect(seen).toHaveLength(5);
  });

  it('are not taken for a rider who leaves before the turn', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const tripId = await trip('rider-1');
    const seen = calls();
    const limiter = service.app.get(RateLimiter, { strict: false });
    await limiter.consume(PAYMENT_CALLS, null, { cost: 50 }); // a second of the provider's time
    const gone = tip('rider-1', tripId).timeout(200);
    await expect(gone).rejects.toThrow('Timeout');
    await delay(1_500);
    expect(seen).toEqual([]);
    await tip('rider-1', tripId).expect(200);
  });
});
