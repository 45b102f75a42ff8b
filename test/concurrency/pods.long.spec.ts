import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { perSecond } from '../../libs/textbook/arithmetic.js';
import { type Textbook, TextbookLeakyBucket, TextbookTokenBucket } from '../../libs/textbook/textbook.js';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';
import type { Arrival, procedures } from './workers/pods.js';

const PODS = 12;
const EACH = 20;

interface Answer {
  readonly status: number;
  /** In microseconds. `slot` is the departure slot of an admitted request. */
  readonly at: number;
  readonly delay: number;
  readonly slot: number;
  /** When the pod received the decision, by its own clock in milliseconds. */
  readonly received: number;
  readonly text: string;
}

let server: RedisServer;
let pods: Processes<typeof procedures>;

beforeAll(async () => {
  server = await RedisServer.start();
  pods = await Processes.start(new URL('workers/pods.ts', import.meta.url), PODS);
}, 60_000);

afterAll(async () => {
  await pods?.stop();
  await server?.stop();
});

async function ask(url: string, path: string, rider: string): Promise<Answer> {
  const response = await fetch(`${url}${path}`, { method: 'POST', headers: { 'X-API-Key': rider } });
  const [at, delay, received] = response.headers.get('X-Decision')!.split(' ').map(Number) as [number, number, number];
  return { status: response.status, at, delay, slot: at + delay, received, text: await response.text() };
}

/** `each` requests of one rider to every pod, all at once. */
async function crowd(urls: readonly string[], each: number, path: string, rider: string): Promise<Answer[]> {
  const targets = Array.from({ length: each }, () => urls).flat();
  return Promise.all(targets.map((url) => ask(url, path, rider)));
}

function admitted(answers: readonly Answer[]): Answer[] {
  expect(answers.filter(({ status }) => status !== 201 && status !== 429)).toEqual([]);
  return answers.filter(({ status }) => status === 201);
}

/** The slots that the textbook gives to requests at these instants. */
function textbookSlots(answers: readonly Answer[], textbook: Textbook): number[] {
  const instants = answers.map(({ at }) => at).toSorted((a, b) => a - b);
  const replies = instants.map((at) => ({ at, ...textbook.ask(at) }));
  return replies.filter(({ allowed }) => allowed).map(({ at, delay }) => at + delay);
}

function slotsOf(answers: readonly Answer[]): number[] {
  return admitted(answers)
    .map(({ slot }) => slot)
    .toSorted((a, b) => a - b);
}

describe('12 instances, 20 requests of one rider to each at once', () => {
  it('admit 20 and the refill during the test, on one Redis', async () => {
    const urls = await pods.all('open', () => server.url);
    const answers = await crowd(urls, EACH, '/rides', 'rider');
    expect(answers).toHaveLength(240);
    expect(slotsOf(answers)).toEqual(textbookSlots(answers, new TextbookTokenBucket(20, perSecond(10))));
  }, 30_000);

  it('admit 240 when each instance counts alone', async () => {
    const urls = await pods.all('open', () => undefined);
    expect(admitted(await crowd(urls, EACH, '/rides', 'rider'))).toHaveLength(240);
  }, 30_000);
});

describe('a leaky bucket that instances share', () => {
  it('passes requests at its rate, and none before its slot', async () => {
    const urls = await pods.all('open', () => server.url);
    const answers = await crowd(urls, 25, '/index', 'rider');

    expect(answers).toHaveLength(300);
    const slots = slotsOf(answers);
    expect(slots).toEqual(textbookSlots(answers, new TextbookLeakyBucket(250, perSecond(200))));
    const arrivals = admitted(answers).map((answer) => ({ ...answer, ...(JSON.parse(answer.text) as Arrival) }));
    expect(arrivals.filter(({ arrivedAtMs, slot }) => arrivedAtMs * 1000 < slot)).toEqual([]);
    // The delay counts from the receipt, however long the answer took.
    expect(arrivals.filter(({ arrived, received, delay }) => (arrived - received) * 1000 < delay)).toEqual([]);
  }, 30_000);
});
