import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { DateTime } from 'luxon';
import { RateLimiter } from 'nestjs-floodgate';
import request from 'supertest';
import { DAILY_SUMMARIES, MODEL_CALLS, SUMMARY_ESTIMATE, SUMMARY_TOKENS } from '../../src/limits/policies.js';
import { type Completion, LanguageModel, ModelUnavailableError } from '../../src/trips/summary/language-model.js';
import { RIDE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

let service: Service;

afterEach(() => service.app.close());

const BUDGET = SUMMARY_TOKENS.capacity;

/** Rides of a rider, which have ended. */
async function trips(riderId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const ride = { ...RIDE, rider_id: riderId };
    const { body } = await request(service.url).post('/api/rides/request').send(ride).expect(200);
    ids.push(body.trip_id as string);
  }
  service.clock.ms += 30_000;
  return ids;
}

const one = (riderId: string, tripId: string): request.Test =>
  request(service.url).get(`/api/trips/${tripId}/summary`).set('X-User-Id', riderId);
const several = (riderId: string, trip_ids: unknown): request.Test =>
  request(service.url).post('/api/trips/summaries').set('X-User-Id', riderId).send({ trip_ids });

/** The tokens that are left in the rider's budget, once what has been asked is settled. */
async function left(riderId: string, expected: number): Promise<number> {
  const limiter = service.app.get(RateLimiter, { strict: false });
  const look = async (): Promise<number> =>
    (await limiter.peek(SUMMARY_TOKENS, { kind: 'user', value: riderId })).policies[0]!.remaining;
  // A settlement follows the response.
  for (let i = 0; i < 100 && (await look()) !== expected; i++) await new Promise(setImmediate);
  return look();
}

async function daily(riderId: string, timeZone: string): Promise<{ remaining: number; resetAfterMs: number }> {
  const limiter = service.app.get(RateLimiter, { strict: false });
  return (await limiter.peek(DAILY_SUMMARIES, { kind: 'user', value: riderId }, { timeZone })).policies[0]!;
}

/** Takes the model's place: it answers with these numbers of tokens in turn, and fails where there is none. */
function modelOf(...tokens: readonly (number | undefined)[]): void {
  const rest = [...tokens];
  const complete = async (): Promise<Completion> => {
    const total_tokens = rest.shift();
    if (total_tokens === undefined) throw new ModelUnavailableError('the model is overloaded');
    return { text: 'a ride', usage: { prompt_tokens: 0, completion_tokens: total_tokens, total_tokens } };
  };
  service.app.get(LanguageModel, { strict: false }).complete = complete;
}

describe.each(PLATFORMS)('summaries over %s', (platform) => {
  it('charge what the model has used', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    const { body } = await one('rider-3', trip!).expect(200);
    expect(body).toEqual({
      trip_id: trip,
      text: expect.stringMatching(/^[A-Z].*the city, passed .*\.$/),
      usage: {
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
        total_tokens: expect.any(Number),
      },
    });
    const { prompt_tokens, completion_tokens, total_tokens } = body.usage as Completion['usage'];
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(total_tokens).not.toBe(SUMMARY_ESTIMATE);
    expect(await left('rider-3', BUDGET - total_tokens)).toBe(BUDGET - total_tokens);
    expect((await one('rider-3', trip!).expect(200)).body).toEqual(body);
    expect(await left('rider-3', BUDGET - 2 * total_tokens)).toBe(BUDGET - 2 * total_tokens);
  });

  it('give all back where the model fails, or there is no such trip', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    modelOf(undefined);
    expect((await one('rider-3', trip!).expect(503)).body.message).toBe('the model is overloaded');
    await one('rider-3', 'another').expect(404);
    await one('rider-1', trip!).expect(404);
    await request(service.url).get(`/api/trips/${trip}/summary`).expect(400);
    expect(await left('rider-3', BUDGET)).toBe(BUDGET);
    expect((await daily('rider-3', 'Asia/Tokyo')).remaining).toBe(20);
  });

  it('charge more than was reserved, beyond the budget up to its overdraft, and later ones wait for it', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    modelOf(BUDGET - 400, 1000, 50);
    await one('rider-3', trip!).expect(200);
    expect(await left('rider-3', 400)).toBe(400);
    await one('rider-3', trip!).expect(200);
    expect(await left('rider-3', 0)).toBe(0);
    const { body } = await one('rider-3', trip!).expect(429);
    expect(body.policy).toBe('summary-tokens');
    // 600 are owed and 300 are asked for, at 6,000 a day.
    expect(body.retry_after).toBeGreaterThan(900 * 14.4 - 120);
    expect(body.retry_after).toBeLessThanOrEqual(900 * 14.4);
    // Another rider has a budget of their own.
    const [other] = await trips('rider-1', 1);
    await one('rider-1', other!).expect(200);
  });

  it('of several trips are reserved together, and settled at what they took', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const ids = await trips('rider-3', 3);
    const { body } = await several('rider-3', ids).expect(200);
    expect(body.summaries.map(({ trip_id }: { trip_id: string }) => trip_id)).toEqual(ids);
    const used = (body.summaries as { usage: Completion['usage'] }[]).reduce(
      (sum, { usage }) => sum + usage.total_tokens,
      0,
    );
    expect(await left('rider-3', BUDGET - used)).toBe(BUDGET - used);
    expect((await daily('rider-3', 'Asia/Tokyo')).remaining).toBe(17);

    modelOf(100, 200, undefined);
    await several('rider-3', ids).expect(503);
    expect(await left('rider-3', BUDGET - used - 300)).toBe(BUDGET - used - 300);
  });

  it('of several trips are rejected as by the guard, where the budget does not have their estimate', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const ids = await trips('rider-3', 2);
    modelOf(BUDGET - 500);
    await one('rider-3', ids[0]!).expect(200);
    expect(await left('rider-3', 500)).toBe(500);
    const { body, headers } = await several('rider-3', ids).expect(429);
    expect(body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'summary-tokens' });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(await left('rider-3', 500)).toBe(500);
    expect((await daily('rider-3', 'Asia/Tokyo')).remaining).toBe(19);
  });

  it("wait for the model's turn: all pods together send no more than its vendor allows", async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    const limiter = service.app.get(RateLimiter, { strict: false });
    const sent: number[] = [];
    modelOf(1, 1);
    const model = service.app.get(LanguageModel, { strict: false });
    const complete = model.complete.bind(model);
    model.complete = async (prompt) => {
      sent.push(performance.now());
      return complete(prompt);
    };
    // Other pods have used up what the vendor allows.
    await limiter.consume(MODEL_CALLS, null, { cost: MODEL_CALLS.capacity });
    const since = performance.now();
    await Promise.all([one('rider-3', trip!).expect(200), one('rider-3', trip!).expect(200)]);
    expect(sent).toHaveLength(2);
    expect(sent[1]! - since).toBeGreaterThan(2 * 20 - 5);

    // The vendor is overloaded, and says so.
    await limiter.pause(MODEL_CALLS, null, { ms: 60_000 });
    const { headers } = await one('rider-3', trip!).expect(503);
    expect(Number(headers['retry-after'])).toBeGreaterThan(50);
    expect(sent).toHaveLength(2);
    expect(await left('rider-3', BUDGET - 2)).toBe(BUDGET - 2);
  });

  it('cost no tokens while the limits are off, and reject what is no list of trips', async () => {
    service = await start(platform);
    const [trip] = await trips('rider-3', 1);
    for (let i = 0; i < 22; i++) await several('rider-3', [trip]).expect(200);
    for (const wrong of [[], 'x', [trip, trip], Array.from({ length: 11 }, (_, i) => `trip-${i}`), [{}], undefined]) {
      await several('rider-3', wrong).expect(400);
    }
    expect((await several('rider-3', [trip, 'another'])).status).toBe(404);
  });

  it('tell a rider once when 80 % of the day are used, and once when all of it is', async () => {
    const log = jest.spyOn(Logger.prototype, 'log');
    service = await start(platform, { RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    modelOf(...Array.from({ length: 20 }, () => 1));
    for (let i = 0; i < 22; i++) await one('rider-3', trip!);
    const mails = log.mock.calls.map(([text]) => String(text)).filter((text) => text.startsWith('To '));
    log.mockRestore();
    const end = DateTime.now().setZone('Asia/Tokyo').plus({ days: 1 }).startOf('day').toUTC().toISO();
    expect(mails).toEqual(
      [80, 100].map((part) => `To user:rider-3: ${part} % of your 20 summaries are used, until ${end}`),
    );
  });

  it.each([
    ['rider-1', 'America/New_York', 20],
    ['rider-2', 'Europe/Paris', 100],
    ['rider-3', 'Asia/Tokyo', 20],
    ['without-account', 'UTC', 20],
  ])('are counted by the day of %s in %s, up to %d', async (riderId, zone, limit) => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const next = (): number => DateTime.now().setZone(zone).plus({ days: 1 }).startOf('day').toMillis();
    const before = next();
    const [trip] = await trips(riderId, 1);
    modelOf(...Array.from({ length: limit }, () => 1));
    const statuses = await Promise.all(Array.from({ length: limit }, async () => (await one(riderId, trip!)).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    const { body, headers } = await one(riderId, trip!).expect(429);
    expect(body.policy).toBe('summaries');
    const ends = Date.now() + 1000 * Number(headers['retry-after']);
    expect(ends).toBeGreaterThan(before - 1000);
    expect(ends).toBeLessThan(next() + 2000);
  });
});
