import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import request from 'supertest';
import { DAILY_SUMMARIES, SUMMARY_ESTIMATE, SUMMARY_TOKENS } from '../../src/limits/policies.js';
import { type Completion, LanguageModel, ModelUnavailableError } from '../../src/trips/summary/language-model.js';
import { RIDE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

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

describe('summaries', () => {
  it('charge what the model has used', async () => {
    service = await start({ RATE_LIMIT: 'on' });
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
    service = await start({ RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    modelOf(undefined);
    expect((await one('rider-3', trip!).expect(503)).body.message).toBe('the model is overloaded');
    await one('rider-3', 'another').expect(404);
    await one('rider-1', trip!).expect(404);
    await request(service.url).get(`/api/trips/${trip}/summary`).expect(400);
    expect(await left('rider-3', BUDGET)).toBe(BUDGET);
    expect((await daily('rider-3', 'Asia/Tokyo')).remaining).toBe(20);
  });
});
