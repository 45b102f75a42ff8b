import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { perSecond } from '../../libs/textbook/arithmetic.js';
import { costByWindow, mostWithin, worstExcess } from '../../libs/textbook/bounds.js';
import {
  type Textbook,
  TextbookCounter,
  TextbookFixedWindow,
  TextbookLeakyBucket,
  TextbookLog,
  TextbookTokenBucket,
} from '../../libs/textbook/textbook.js';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';
import { admissions, merge, parse, type Seen } from './support/history.js';
import { differenceFromMemory, differenceFromTextbook } from './support/replay.js';
import type { procedures } from './workers/limiter.js';

/** The requests under way in each process: from one at a time to enough that no batch contains a single request. */
const IN_FLIGHT = [1, 1, 2, 2, 4, 4, 8, 8];
const FOR_MS = 2000;
const SECOND = 1_000_000n;

let server: RedisServer;
let processes: Processes<typeof procedures>;

beforeAll(async () => {
  server = await RedisServer.start();
  processes = await Processes.start(new URL('workers/limiter.ts', import.meta.url), IN_FLIGHT.length);
  await processes.all('connect', () => server.url);
}, 60_000);

afterAll(async () => {
  await processes?.stop();
  await server?.stop();
});

/** All processes send requests of one identity as fast as they can. Returns their decisions in the order of Redis's clock. */
async function hammer(policy: Policy): Promise<Seen[]> {
  const histories = await processes.all('hammer', (i) => ({ policy, forMs: FOR_MS, inFlight: IN_FLIGHT[i]! }));
  const parsed = histories.map(parse);
  const latestStart = Math.max(...parsed.map((history) => history.at(0)!.at));
  const earliestEnd = Math.min(...parsed.map((history) => history.at(-1)!.at));
  expect(earliestEnd).toBeGreaterThan(latestStart); // otherwise the processes did not compete
  return merge(parsed);
}

function expectExact(history: readonly Seen[], policy: Policy, textbook: Textbook): void {
  expect(history.filter(({ allowed }) => !allowed).length).toBeGreaterThan(0); // otherwise the key was not contended
  expect(differenceFromTextbook(history, textbook)).toBeUndefined();
  expect(differenceFromMemory(history, policy)).toBeUndefined();
}

describe('processes that hammer one key admit exactly', () => {
  it('capacity + refill x t of a token bucket', async () => {
    const [capacity, refill] = [1200n, 600n]; // a token every 1666 2/3 microseconds
    const policy = { name: 'tokens', algorithm: 'token-bucket', capacity: 1200, refill: 600 } as const;
    const textbook = new TextbookTokenBucket(1200, perSecond(refill));
    const history = await hammer(policy);
    expectExact(history, policy, textbook);

    // From the last instant at which the bucket was full: at every rejection less than one token is left.
    const since = textbook.wholeSince;
    const saturated = history.slice(history.findIndex(({ at }) => at === since));
    let admitted = 0n;
    const unlike = saturated.filter(({ at, allowed }) => {
      if (allowed) admitted++;
      return !allowed && admitted !== (capacity * SECOND + refill * BigInt(at - since)) / SECOND;
    });
    expect(unlike).toEqual([]);
    expect(admitted).toBeGreaterThan(capacity);

    expect(worstExcess(admissions(history), 1200, perSecond(refill))).toBeLessThanOrEqual(0);
  }, 30_000);

  it('one departure every 1/drain of a leaky bucket, and no request beyond its capacity', async () => {
    const drain = 600n;
    const policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1200, drain: 600 } as const;
    const textbook = new TextbookLeakyBucket(1200, perSecond(drain));
    const history = await hammer(policy);
    expectExact(history, policy, textbook);

    const admitted = history.filter(({ allowed }) => allowed);
    const slots = admitted.map(({ at, delay }) => at + delay);
    // From the last instant with an empty queue, the k-th request departs k/drain later, rounded up to a microsecond.
    const since = textbook.wholeSince;
    const first = admitted.findIndex(({ at }) => at === since);
    const unlike = slots.slice(first).filter((slot, k) => {
      return BigInt(slot - since) !== (BigInt(k) * SECOND + drain - 1n) / drain;
    });
    expect(unlike).toEqual([]);
    expect(slots.length - first).toBeGreaterThan(1200);

    // No two slots are closer than 1/drain = 1666 2/3 microseconds, which rounding up may shorten to 1666.
    expect(slots.filter((slot, k) => k > 0 && slot - slots[k - 1]! < 1666)).toEqual([]);
    let departed = 0;
    const waiting = admitted.map(({ at }, k) => {
      while (departed <= k && slots[departed]! <= at) departed++;
      return k + 1 - departed;
    });
    expect(Math.max(...waiting)).toBe(1200);
  }, 30_000);

  it('the limit in every window of a fixed window', async () => {
    const [limit, window] = [300, 250_000];
    const policy = { name: 'windows', algorithm: 'fixed-window', limit, window: 250 } as const;
    const history = await hammer(policy);
    expectExact(history, policy, new TextbookFixedWindow(limit, window));

    const asked = costByWindow(history, window);
    const possible = [...asked].map(([number, cost]) => [number, Math.min(cost, limit)] as const);
    expect(costByWindow(admissions(history), window)).toEqual(new Map(possible));
    expect(asked.size).toBeGreaterThan(6);
  }, 30_000);

  // Redis keeps a log of up to 128 instants in another form than a longer one.
  it.each([
    { limit: 50, ms: 60 },
    { limit: 200, ms: 300 },
  ])(
    'the limit in every window-long interval of a log ($limit in $ms ms)',
    async ({ limit, ms }) => {
      const window = ms * 1000;
      const policy = { name: 'log', algorithm: 'sliding-window-log', limit, window: ms } as const;
      const history = await hammer(policy);
      expectExact(history, policy, new TextbookLog(limit, window));

      const instants = admissions(history).map(({ at }) => at);
      expect(mostWithin(admissions(history), window)).toBeLessThanOrEqual(limit);
      // No rejection was needless: the window before each one contains `limit` admissions.
      let [expired, admitted] = [0, 0];
      const needless = history.filter(({ at, allowed }) => {
        if (allowed) admitted++;
        while (instants[expired]! <= at - window) expired++;
        return !allowed && admitted - expired !== limit;
      });
      expect(needless).toEqual([]);
    },
    30_000,
  );

  it('what the weighting allows of a sliding window counter', async () => {
    const [limit, window] = [150, 200_000];
    const policy = { name: 'counter', algorithm: 'sliding-window-counter', limit, window: 200 } as const;
    const history = await hammer(policy);
    expectExact(history, policy, new TextbookCounter(limit, window));

    expect(Math.max(...costByWindow(admissions(history), window).values())).toBeLessThanOrEqual(limit);
    expect(mostWithin(admissions(history), window)).toBeLessThanOrEqual(2 * limit - 1);
  }, 30_000);
});
