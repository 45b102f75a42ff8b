import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type DecisionEvent, type RateLimitStore, RedisStore } from 'nestjs-floodgate';
import {
  expectLimit,
  type LimitReply,
  overrideRateLimitStore,
  recordDecisions,
  type RecordedDecisions,
  VirtualClock,
  VirtualStore,
} from 'nestjs-floodgate/testing';
import { randomOf } from '../support/random.js';
import { useRedis } from '../support/redis-fixture.js';
import { appModule, IDENTITY, NO_REDIS } from './support/limited-app.js';

jest.setTimeout(20_000); // hundreds of requests in real time, and the machine may be busy

const PATHS = ['bucket', 'thirds', 'single', 'dear', 'window', 'log', 'counter', 'both'];
const REQUESTS = 400;

/** An application on one kind of store. */
interface Limited {
  readonly app: INestApplication;
  readonly clock: VirtualClock;
  readonly decisions: RecordedDecisions;
}

/** What both stores have to agree on. The reset header counts from the clock of the process. */
function said({ status, headers, body }: LimitReply, last: DecisionEvent | undefined): object {
  const { limit, remaining } = { limit: headers['x-ratelimit-limit'], remaining: headers['x-ratelimit-remaining'] };
  return { status, limit, remaining, retryAfter: headers['retry-after'], body, decision: { ...last!.decision } };
}

describe("the kit's store and a RedisStore at the same instants", () => {
  const redis = useRedis();
  let both: Limited[];

  beforeEach(async () => {
    // Delayed requests wait by the clock in both.
    const onRedis = (clock: VirtualClock): RateLimitStore =>
      Object.assign(new RedisStore(redis.client, { clock: clock.read }), { timer: clock.timer });
    both = [];
    for (const storeOn of [(clock: VirtualClock) => new VirtualStore(clock), onRedis]) {
      const clock = new VirtualClock();
      const root = appModule({ redis: NO_REDIS, identity: IDENTITY, deadline: 10_000 });
      const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [root] }), storeOn(clock));
      const testingModule = await builder.compile();
      const app = testingModule.createNestApplication({ logger: false });
      await app.init();
      both.push({ app, clock, decisions: recordDecisions(app) });
    }
  });
  afterEach(async () => {
    for (const { app } of both) await app.close();
  });

  it(`give the same answers to ${REQUESTS} requests of three users over HTTP`, async () => {
    const random = randomOf(20_260_101);
    let rejected = 0;
    for (let i = 0; i < REQUESTS; i++) {
      const path = PATHS[random(PATHS.length)]!;
      const user = ['ada', 'bob', 'cyd'][random(3)]!;
      // Mostly none, some of the order of a bucket's refill, sometimes a window.
      const passes = [0, 0, 0, random(400_000), random(90_000_000)][random(5)]!;
      const answers = [];
      for (const { app, clock, decisions } of both) {
        clock.advanceMicroseconds(passes);
        const reply = await expectLimit(app, { clock }).get(`/${path}`).as({ user }).send();
        answers.push(said(reply, decisions.last));
      }
      expect(answers[1]).toEqual(answers[0]);
      if (both[0]!.decisions.last!.decision.allowed) continue;
      rejected++;
    }
    expect(rejected).toBeGreaterThan(REQUESTS / 20);
    expect(rejected).toBeLessThan(REQUESTS / 2);
    expect(await redis.client.dbsize()).toBeGreaterThan(10);
  });

  it.each([
    ['bucket', 20, 10],
    ['thirds', 2, 3],
    ['leaky', 4, 10],
  ])('hold the same expectations of /%s', async (path, burst, rate) => {
    for (const { app, clock } of both) {
      const since = clock.nowMicroseconds;
      await expectLimit(app, { clock }).get(`/${path}`).as({ user: 'ada' }).toAdmit(burst).perSecond(rate);
      expect(clock.nowMicroseconds - since).toBeGreaterThan(1_000_000);
    }
    expect(both[1]!.clock.nowMicroseconds).toBe(both[0]!.clock.nowMicroseconds);
  });

  it.each(['window', 'log', 'counter'])('hold the same expectations of /%s', async (path) => {
    for (const { app, clock } of both) {
      await expectLimit(app, { clock }).get(`/${path}`).as({ user: 'ada' }).toAdmit(5).per('1m');
    }
    expect(both[1]!.clock.nowMicroseconds).toBe(both[0]!.clock.nowMicroseconds);
  });
});
