import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Answer, Crowd, type CrowdOptions, type Observation } from './crowd.js';
import type { RiderRequest } from './rider.js';

beforeEach(() => void jest.useFakeTimers());
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
  const stopped = crowd.stop();
  await jest.runAllTimersAsync();
  await stopped;
}

it('sends the demanded requests per second when answers come at once', async () => {
  const { crowd, seen } = crowdOf();
  crowd.start();
  await jest.advanceTimersByTimeAsync(20_000);
  await stop(crowd);
  expect(seen.length / 20).toBeGreaterThan(570);
  expect(seen.length / 20).toBeLessThan(630);
});

describe('setDemand', () => {
  it('changes the requests per second at once, up and down', async () => {
    const { crowd, seen } = crowdOf({ demand: 20, riders: 2000 });
    const sentIn = (fromMs: number, toMs: number): number =>
      seen.filter(({ sentAt }) => sentAt >= fromMs && sentAt < toMs).length;
    crowd.start();
    await jest.advanceTimersByTimeAsync(5000);
    crowd.setDemand(600);
    await jest.advanceTimersByTimeAsync(10_000);
    crowd.setDemand(20);
    await jest.advanceTimersByTimeAsync(10_000);
    await stop(crowd);
    expect(sentIn(0, 5000)).toBeLessThan(130);
    // Further requests of a visit come up to 0.6 s later.
    expect(sentIn(6000, 15_000) / 9).toBeGreaterThan(570);
    expect(sentIn(6000, 15_000) / 9).toBeLessThan(630);
    expect(sentIn(16_000, 25_000) / 9).toBeLessThan(30);
  });

  it('sends the same requests for the same seed and the same changes', async () => {
    const run = async (): Promise<string[]> => {
      const { crowd, sent } = crowdOf({ demand: 50 });
      crowd.start();
      await jest.advanceTimersByTimeAsync(1500);
      crowd.setDemand(400);
      await jest.advanceTimersByTimeAsync(1500);
      await stop(crowd);
      return sent.map((request) => JSON.stringify(request));
    };
    const first = await run();
    expect(first.length).toBeGreaterThan(400);
    expect(await run()).toEqual(first);
  });

  it('works before the start, and sends nothing after the stop', async () => {
    const { crowd, sent } = crowdOf({ demand: 1 });
    crowd.setDemand(600);
    crowd.start();
    await jest.advanceTimersByTimeAsync(1000);
    await stop(crowd);
    const count = sent.length;
    expect(count).toBeGreaterThan(300);
    crowd.setDemand(1000);
    await jest.advanceTimersByTimeAsync(1000);
    expect(sent).toHaveLength(count);
    expect(jest.getTimerCount()).toBe(0);
  });
});

it('tells how late it sends a request', async () => {
  const late: number[] = [];
  const { crowd } = crowdOf({ send: async (_, _pod, lateMs) => (late.push(lateMs), { status: 200 }) });
  crowd.start();
  await jest.advanceTimersByTimeAsync(2000);
  await stop(crowd);
  expect(late.length).toBeGreaterThan(800);
  expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...late)).toBeLessThan(2);
});

it('begins with a rush', async () => {
  const { crowd, seen } = crowdOf({ rush: 300, demand: 200 });
  crowd.start();
  await jest.advanceTimersByTimeAsync(10_000);
  await stop(crowd);
  const ridersFrom = (fromMs: number): number =>
    new Set(seen.filter(({ sentAt }) => sentAt >= fromMs && sentAt < fromMs + 2000).map(({ rider }) => rider)).size;
  expect(ridersFrom(0)).toBeGreaterThan(450);
  expect(ridersFrom(0)).toBeLessThanOrEqual(501);
  expect(ridersFrom(8000)).toBeLessThan(270);
});

it('waits 0.1 to 0.3 s from an answer to the next request of a rider, and never has two open requests', async () => {
  const { crowd, seen } = crowdOf({ send: (_, pod) => after(50 * pod, { status: 200 }) });
  crowd.start();
  await jest.advanceTimersByTimeAsync(10_000);
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

it('sends requests to the processes in turn', async () => {
  const { crowd, seen } = crowdOf({ pods: 3 });
  crowd.start();
  await jest.advanceTimersByTimeAsync(1000);
  await stop(crowd);
  const pods = [0, 1, 2].map((pod) => seen.filter((observation) => observation.pod === pod).length);
  expect(Math.max(...pods) - Math.min(...pods)).toBeLessThanOrEqual(1);
});

it('piles up until all riders wait for answers, and continues when answers come', async () => {
  const open: ((answer: Answer) => void)[] = [];
  const { crowd, sent } = crowdOf({ send: () => new Promise((resolve) => open.push(resolve)) });
  crowd.start();
  await jest.advanceTimersByTimeAsync(10_000);
  expect(crowd.snapshot()).toMatchObject({ inApp: 500, waiting: 500, allowed: 0 });
  expect(new Set(sent.map(({ riderId }) => riderId)).size).toBe(500);
  for (const resolve of open.splice(0)) resolve({ status: 503 });
  await jest.advanceTimersByTimeAsync(1600);
  expect(open.length).toBeGreaterThan(300);
  const stopped = crowd.stop();
  for (const resolve of open) resolve({ status: 200 });
  await stopped;
});

it.each<[string, () => Promise<Answer>, number, number]>([
  ['an error', () => Promise.reject(new Error('reset')), 500, 1500],
  ['a 503', async () => ({ status: 503 }), 500, 1500],
  ['a 429', async () => ({ status: 429, policy: 'matching', retryAfterMs: 7 }), 1100, 1300],
  ['a 429 that says 2.1 s', async () => ({ status: 429, retryAfterMs: 2100 }), 3100, 3300],
  ['a 429 that never passes', async () => ({ status: 429 }), 500, 1500],
])('repeats a request after %s, and gives up after three attempts', async (_, send, soonestMs, latestMs) => {
  const { crowd, seen, sent } = crowdOf({ send, demand: 50, riders: 2000 });
  crowd.start();
  await jest.advanceTimersByTimeAsync(20_000);
  await stop(crowd);
  expect(seen).toHaveLength(sent.length);
  const byRider = grouped(seen, ({ rider }) => rider);
  expect(byRider.size).toBeGreaterThan(400);
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

it('goes on with the visit once a repeated request is served', async () => {
  const tried = new Set<string>();
  const send = async (request: RiderRequest): Promise<Answer> => {
    const text = JSON.stringify(request);
    const isRepeated = tried.has(text);
    tried.add(text);
    return { status: isRepeated ? 200 : 503 };
  };
  const { crowd, seen } = crowdOf({ send, demand: 1 });
  crowd.start();
  await jest.advanceTimersByTimeAsync(60_000);
  await stop(crowd);
  expect(new Set(seen.map(({ attempt }) => attempt))).toEqual(new Set([1, 2]));
  expect(crowd.snapshot().inApp).toBe(0);
});

it('counts answers by outcome', async () => {
  const answers: Answer[] = [
    { status: 200, driverId: 'd' },
    { status: 200 },
    { status: 429, policy: 'rider' },
    { status: 503 },
  ];
  let next = 0;
  const { crowd, seen } = crowdOf({ send: async () => answers[next++ % 4]! });
  crowd.start();
  await jest.advanceTimersByTimeAsync(5000);
  await stop(crowd);
  const { allowed, matched, rejected, failed } = crowd.snapshot();
  expect(allowed + rejected + failed).toBe(seen.length);
  expect(matched).toBe(seen.filter(({ driverId }) => driverId === 'd').length);
  expect(rejected).toBe(seen.filter(({ policy }) => policy === 'rider').length);
  expect(Math.abs(allowed - 2 * failed)).toBeLessThanOrEqual(2);
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
    expect(jest.getTimerCount()).toBe(0);
    expect(crowd.snapshot()).toMatchObject({ inApp: 0, waiting: 0 });
  });

  it('works before the start, and twice', async () => {
    const { crowd } = crowdOf();
    await crowd.stop();
    await expect(crowd.stop()).resolves.toBeUndefined();
  });
});

it('sends the same requests for the same seed', async () => {
  const run = async (seed: number): Promise<string[]> => {
    const { crowd, sent } = crowdOf({ seed });
    crowd.start();
    await jest.advanceTimersByTimeAsync(3000);
    await stop(crowd);
    return sent.map((request) => JSON.stringify(request));
  };
  const first = await run(7);
  expect(await run(7)).toEqual(first);
  expect(await run(8)).not.toEqual(first);
});

it('starts only once', () => {
  const { crowd } = crowdOf();
  crowd.start();
  expect(() => crowd.start()).toThrow('a crowd starts only once; create another one');
  return stop(crowd);
});
