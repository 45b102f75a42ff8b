import { once } from 'node:events';
import { get } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import request from 'supertest';
import { DAILY_SUMMARIES, LARGE_MODEL_TOKENS, SMALL_MODEL_TOKENS, SUMMARY_TOKENS } from '../../src/limits/policies.js';
import { type ChatRequest, LanguageModel } from '../../src/trips/summary/language-model.js';
import { events } from '../llm/support/model-server.js';
import { RIDE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

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
const several = (riderId: string, trip_ids: readonly string[]): request.Test =>
  request(service.url).post('/api/trips/summaries').set('X-User-Id', riderId).send({ trip_ids });

type Used = Readonly<Record<'rider' | 'small' | 'large', number>>;

/** The tokens that are charged, once what has been asked is settled. */
async function used(riderId: string, expected: Used): Promise<Used> {
  const limiter = service.app.get(RateLimiter, { strict: false });
  const look = async (): Promise<Used> => {
    const policies = [SUMMARY_TOKENS, SMALL_MODEL_TOKENS, LARGE_MODEL_TOKENS];
    const decision = await limiter.peek(policies, { kind: 'user', value: riderId });
    const [rider, small, large] = decision.policies.map(({ limit, remaining }) => limit - remaining);
    return { rider: rider!, small: small!, large: large! };
  };
  // A settlement follows the response.
  let last = await look();
  for (let i = 0; i < 1000 && JSON.stringify(last) !== JSON.stringify(expected); i++) {
    await new Promise(setImmediate);
    last = await look();
  }
  return last;
}

async function daily(riderId: string, timeZone: string): Promise<{ remaining: number; resetAfterMs: number }> {
  const limiter = service.app.get(RateLimiter, { strict: false });
  return (await limiter.peek(DAILY_SUMMARIES, { kind: 'user', value: riderId }, { timeZone })).policies[0]!;
}

interface Told {
  readonly text: string;
  readonly total: number;
}

/** The text of a stream of events, and the tokens that it says. */
function told(stream: string): Told {
  const chunks = [...stream.matchAll(/^data: (\{.*)$/gm)].map(
    ([, data]) =>
      JSON.parse(data!) as {
        readonly choices: readonly { readonly delta: { readonly content?: string } }[];
        readonly usage?: { readonly prompt_tokens: number; completion_tokens: number; readonly total_tokens: number };
      },
  );
  const text = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('');
  const { prompt_tokens, completion_tokens, total_tokens } = chunks.at(-1)!.usage!;
  expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  expect(stream).toMatch(/\n\ndata: \[DONE\]\n\n$/);
  return { text, total: total_tokens };
}

/** Takes the place of the models. */
function modelsAre(chat: (request: ChatRequest) => Response): void {
  service.app.get(LanguageModel, { strict: false }).chat = async (asked) => chat(asked);
}

const EVENT_STREAM = { headers: { 'Content-Type': 'text/event-stream' } };

/** Answers that have used so many tokens. */
const using = (total_tokens: number) => (): Response =>
  new Response(
    events({ choices: [], usage: { prompt_tokens: 0, completion_tokens: total_tokens, total_tokens } }).join(''),
    EVENT_STREAM,
  );

describe('summaries', () => {
  it('stream what the model writes, and charge what it has used to the rider and to the model', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const [trip, ...others] = await trips('rider-3', 3);
    const answer = await one('rider-3', trip!).expect(200).expect('Content-Type', 'text/event-stream');
    const small = told(answer.text);
    expect(small.text).toMatch(/^[A-Z].*the city, passed .*\.$/);
    const first = { rider: small.total, small: small.total, large: 0 };
    expect(await used('rider-3', first)).toEqual(first);
    expect((await one('rider-3', trip!).expect(200)).text).toBe(answer.text);
    const large = told((await several('rider-3', others).expect(200)).text);
    expect(large.text.split('\n')).toHaveLength(2);
    const all = { rider: 2 * small.total + large.total, small: 2 * small.total, large: large.total };
    expect(await used('rider-3', all)).toEqual(all);
    expect((await daily('rider-3', 'Asia/Tokyo')).remaining).toBe(16);
  });

  it('are rejected once the tokens of a budget are used up, and say when they pass again', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    modelsAre(using(BUDGET));
    const { headers } = await one('rider-3', trip!).expect(200);
    // The estimate takes a larger share of the rider's tokens than the request of the day's 20.
    expect(headers['x-ratelimit-limit']).toBe(String(BUDGET));
    expect(Number(headers['x-ratelimit-remaining'])).toBeLessThan(BUDGET - 300);
    const none = { rider: BUDGET, small: BUDGET, large: 0 };
    expect(await used('rider-3', none)).toEqual(none);
    const { body, headers: rejected } = await one('rider-3', trip!).expect(429);
    expect(body).toMatchObject({
      error: 'rate_limit_exceeded',
      policy: 'summary-tokens',
      retry_after: expect.any(Number),
    });
    expect(rejected['retry-after']).toBe(String(body.retry_after));
    await several('rider-3', [trip!]).expect(429);
    const [another] = await trips('rider-1', 1);
    await one('rider-1', another!).expect(200);
    // The daily limit counts what was written.
    expect((await daily('rider-3', 'Asia/Tokyo')).remaining).toBe(19);
  });

  it('are paid for as far as they were written where the rider leaves', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    let prompt = 0;
    let cancelled!: () => void;
    const cancel = new Promise<void>((resolve) => (cancelled = resolve));
    modelsAre(({ messages }) => {
      // Names of members count, and a number is a token.
      const names =
        'modelmax_tokensstreamstream_optionsinclude_usagemessages'.length + 'rolecontent'.length * messages.length;
      prompt = Math.ceil(messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), names + 3) / 3);
      const begun = events({ choices: [{ delta: { content: 'x'.repeat(90) } }] }).join('');
      const writes = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(Buffer.from(begun)),
        cancel: cancelled,
      });
      return new Response(writes, EVENT_STREAM);
    });
    const headers = { 'X-User-Id': 'rider-3' };
    const reading = get(`${service.url}/api/trips/${trip}/summary`, { headers });
    const [response] = (await once(reading, 'response')) as [NodeJS.ReadableStream];
    await once(response, 'data');
    reading.destroy();
    await cancel;
    const paid = { rider: prompt + 30, small: prompt + 30, large: 0 };
    expect(await used('rider-3', paid)).toEqual(paid);
    expect((await daily('rider-3', 'Asia/Tokyo')).remaining).toBe(19);
  });

  it('give all back where the model fails, or there is no such trip', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const [trip] = await trips('rider-3', 1);
    modelsAre(() => new Response('overloaded', { status: 529 }));
    expect((await one('rider-3', trip!).expect(503)).body.message).toBe('the model answers with 529');
    await one('rider-3', 'another').expect(404);
    await one('rider-1', trip!).expect(404);
    await request(service.url).get(`/api/trips/${trip}/summary`).expect(400);
    const nothing = { rider: 0, small: 0, large: 0 };
    expect(await used('rider-3', nothing)).toEqual(nothing);
    expect((await daily('rider-3', 'Asia/Tokyo')).remaining).toBe(20);
  });

  it('are written without limits where they are off', async () => {
    service = await start();
    const [trip] = await trips('rider-3', 1);
    const { text, headers } = await one('rider-3', trip!).expect(200);
    expect([told(text).text, headers['x-ratelimit-limit']]).toEqual([expect.stringMatching(/./), undefined]);
  });
});
