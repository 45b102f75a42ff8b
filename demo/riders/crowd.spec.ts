import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { advanceUntil } from '../../test/support/advance-until.js';
import { ownTimers } from '../../test/support/own-timers.js';
import { type Answer, Crowd, type CrowdOptions, type Observation } from './crowd.js';
import type { RiderRequest } from './rider.js';

let timers: () => number;
beforeEach(() => {
  jest.useFakeTimers();
  timers = ownTimers('crowd.ts');
});
afterEach(() => void jest.useRealTimers());

interface Seen {
  readonly crowd: Crowd;
  readonly seen: Observation[];
  readonly sent: RiderRequest[];
}

const after = (ms: number, answer: Answer): Promise<Answer> =>
  new Promise((resolve) => setTimeout(resolve, ms, answer));

function crowdOf(options: Partial<CrowdOptions> = {}): Seen {
  const seen: Observation[] = [];
  const sent: RiderRequest[] = [];
  const send = options.send ?? (() => after(5, { status: 200 }));
  const crowd = new Crowd({
    riders: 500,
    demand: 600,
    seed: 1,
    pods: 4,
    onAnswer: (observation) => seen.push(observation),
    ...options,
    send: (request, pod, lateMs) => (sent.push(request), send(request, pod, lateMs)),
  });
  return { crowd, seen, sent };
}

function grouped(seen: readonly Observation[], keyOf: (one: Observation) => number): Map<number, Observation[]> {
  const groups = new Map<number, Observation[]>();
  for (const one of seen) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

/** Advances the time until all requests are answered. */
async function stop(crowd: Crowd): Promise<void> {
  await advanceUntil(crowd.stop());
}

it('sends the demanded requests per second when answers come at once', async () => {
  const { crowd, seen } = crowdOf();
  crowd.start();
  await jest.advanceTimersByTimeAsync(5_000);
  await stop(crowd);
  expect(seen.length / 5).toBeGreaterThan(570);
  expect(seen.length / 5).toBeLessThan(630);
});

it('waits 0.1 to 0.3 s from an answer to the next request of a rider, and never has two open requests', async () => {
  const { crowd, seen } = crowdOf({ send: (_, pod) => after(50 * pod, { status: 200 }) });
  crowd.start();
  await jest.advanceTimersByTimeAsync(4_000);
  await stop(crowd);
  const last = new Map<number, Observation>();
  for (const observation of seen.toSorted((a, b) => a.sentAt - b.sentAt)) {
    const before = last.get(observation.rider);
    last.set(observation.rider, observation);
    // A new visit may begin sooner than a request within one.
    expect(observation.sentAt).toBeGreaterThanOrEqual(before?.answeredAt ?? 0);
    expect(observation.sentAt - observation.dueAt).toBeLessThan(2);
  }
  expect(last.size).toBe(500);
});

it.each<[string, () => Promise<Answer>, number, number]>([
  ['a 503', async () => ({ status: 503 }), 500, 1500],
  ['a 429 that says 2.1 s', async () => ({ status: 429, retryAfterMs: 2100 }), 3100, 3300],
  ['a 429 that never passes', async () => ({ status: 429 }), 500, 1500],
])('repeats a request after %s, and gives up after three attempts', async (_, send, soonestMs, latestMs) => {
  const { crowd, seen, sent } = crowdOf({ send, demand: 50, riders: 2000 });
  crowd.start();
  await jest.advanceTimersByTimeAsync(10_000);
  await stop(crowd);
  expect(seen).toHaveLength(sent.length);
  const byRider = grouped(seen, ({ rider }) => rider);
  expect(byRider.size).toBeGreaterThan(200);
  for (const asked of byRider.values()) {
    const inTime = asked.toSorted((a, b) => a.sentAt - b.sentAt);
    expect(inTime.map(({ attempt }) => attempt)).toEqual([1, 2, 3].slice(0, inTime.length));
    for (const [i, { sentAt }] of inTime.entries()) {
      if (i === 0) continue;
      expect(sentAt - inTime[i - 1]!.answeredAt).toBeGreaterThanOrEqual(soonestMs);
      expect(sentAt - inTime[i - 1]!.answeredAt).toBeLessThanOrEqual(latestMs + 2);
    }
  }
  // Who gives up closes the app, without the other requests of the visit. Only those who came last were not done.
  const rest = Array.from(byRider.values()).filter((asked) => asked.length < 3).length;
  expect(rest).toBeLessThan(25 * 7);
  expect(new Set(sent.map((request) => JSON.stringify(request))).size).toBe(byRider.size);
});

describe('stop', () => {
  it('sends no further requests, ends pauses at once, and waits for open requests', async () => {
    const { crowd, seen, sent } = crowdOf({ send: () => after(1000, { status: 200 }) });
    crowd.start();
    await jest.advanceTimersByTimeAsync(3000);
    const count = sent.length;
    let stopped = false;
    const stopping = crowd.stop().then(() => (stopped = true));
    await jest.advanceTimersByTimeAsync(900);
    expect(stopped).toBe(false);
    await jest.advanceTimersByTimeAsync(100);
    await stopping;
    expect(sent).toHaveLength(count);
    expect(seen).toHaveLength(count);
    expect(timers()).toBe(0);
    expect(crowd.snapshot()).toMatchObject({ inApp: 0, waiting: 0 });
  });
});
