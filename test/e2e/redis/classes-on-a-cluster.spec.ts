import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { type Identity, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { useCluster } from '../../support/faults/cluster-fixture.js';
import { until } from '../../support/faults/until.js';
import { type HttpApp, start } from '../../support/http-app.js';

jest.setTimeout(90_000); // a Cluster of several processes, and the machine may be busy

const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user' } as const;
const CLASSES = { rides: 1, searches: 0.8, estimates: 0.5 };
type Class = keyof typeof CLASSES;
const NAMES = Object.keys(CLASSES) as Class[];
const LIMIT = 20;
/** In several slots, so on several nodes. */
const USERS = ['ada', 'bob', 'eve', 'joe', 'kim', 'lou'];
const CREDITS = 30;

const POLICIES = {
  classed: { ...WINDOW, limit: LIMIT, priorities: CLASSES },
  bucket: { algorithm: 'token-bucket', capacity: LIMIT, refill: '1/d', by: 'user', priorities: CLASSES },
  shared: { ...WINDOW, limit: LIMIT, by: 'global', priorities: CLASSES },
  own: { ...WINDOW, limit: 5, else: 'credits' },
  credits: { ...WINDOW, limit: CREDITS, by: 'global' },
  quota: { ...WINDOW, limit: 5, else: 'reserve' },
  reserve: { ...WINDOW, limit: LIMIT, priorities: CLASSES },
  month: { ...WINDOW, limit: 1_000 },
} as const satisfies Record<string, Policy>;

const fixture = useCluster();
let apps: HttpApp[];
const userOf = (value: string): Identity => ({ kind: 'user', value });
const pick = (i: number): RateLimiter => apps[i % apps.length]!.app.get(RateLimiter);
let runs = 0;
let tests = 0;

beforeEach(async () => {
  apps = [];
  const keyPrefix = `t${++tests}`; // each test has its own states
  for (let i = 0; i < 3; i++) {
    const redis = fixture.client;
    const options = { redis, keyPrefix, policies: POLICIES, deadline: 5_000, onStoreFailure: 'closed' } as const;
    apps.push(await start('Express', { imports: [RateLimitModule.forRoot(options)] }));
  }
});

afterEach(async () => {
  for (const app of apps) await app[Symbol.asyncDispose]();
});

/** A new user in each run, on some node. */
const fresh = (user: string): string => `${user}-${runs}`;

describe('on a Cluster, requests of several processes', () => {
  it('in classes fill at most the part of their class and of all lower ones, and rides all of it', async () => {
    const asked = fc.record({
      user: fc.constantFrom(...USERS),
      name: fc.constantFrom(...NAMES),
      cost: fc.integer({ min: 1, max: 3 }),
    });
    const policy = fc.constantFrom('classed', 'bucket');
    await fc.assert(
      fc.asyncProperty(policy, fc.array(asked, { minLength: 60, maxLength: 150 }), async (name, requests) => {
        runs++;
        const decided = await Promise.all(
          requests.map(async (one, i) => ({
            ...one,
            ...(await pick(i).consume(name, userOf(fresh(one.user)), { priority: one.name, cost: one.cost })),
          })),
        );
        for (const user of USERS) {
          const admitted = decided.filter((one) => one.allowed && one.user === user);
          for (const [rank, priority] of NAMES.entries()) {
            const lower = admitted.filter((one) => NAMES.indexOf(one.name) >= rank);
            const used = lower.reduce((sum, { cost }) => sum + cost, 0);
            expect(used).toBeLessThanOrEqual(LIMIT * CLASSES[priority]);
          }
          // Nothing of the limit is lost either: rides take what is left of it.
          let used = admitted.reduce((sum, { cost }) => sum + cost, 0);
          while ((await pick(used).consume(name, userOf(fresh(user)), { priority: 'rides' })).allowed) used++;
          expect(used).toBe(LIMIT);
        }
      }),
      { numRuns: 6 },
    );
  });

  it('of a global policy share the parts, whichever process asks', async () => {
    const decided = await Promise.all(
      Array.from({ length: 90 }, async (_, i) => {
        const priority = NAMES[2 - (i % 3)]!;
        return { priority, ...(await pick(i).consume('shared', null, { priority })) };
      }),
    );
    const admitted = (...names: Class[]): number =>
      decided.filter(({ allowed, priority }) => allowed && names.includes(priority)).length;
    expect(admitted('estimates')).toBeLessThanOrEqual(10);
    expect(admitted('estimates', 'searches')).toBeLessThanOrEqual(16);
    expect(admitted(...NAMES)).toBe(LIMIT);
  });

  it('run over into credits of another slot: no unit more than there is, and none is lost', async () => {
    const decided = await Promise.all(
      Array.from({ length: 20 * USERS.length }, async (_, i) => {
        const user = USERS[i % USERS.length]!;
        return { user, ...(await pick(i).consume(['own', 'month'], userOf(user))) };
      }),
    );
    const admitted = decided.filter(({ allowed }) => allowed);
    const by = (policy: string): number => admitted.filter(({ policies }) => policies[0]!.policy === policy).length;
    expect([by('own'), by('credits')]).toEqual([5 * USERS.length, CREDITS]);
    for (const user of USERS) {
      const own = admitted.filter((one) => one.user === user);
      const { policies } = await pick(0).peek('month', userOf(user));
      expect(policies[0]!.remaining).toBe(1_000 - own.length);
    }
  });

  it('run over into a reserve as a class that has no more of it', async () => {
    const ask = async (i: number, priority: Class): Promise<boolean> =>
      (await pick(i).consume('quota', userOf('ada'), { priority })).allowed;
    const passed = async (priority: Class, count: number): Promise<number> =>
      (await Promise.all(Array.from({ length: count }, (_, i) => ask(i, priority)))).filter(Boolean).length;
    expect(await passed('estimates', 40)).toBe(5 + 10);
    expect(await passed('searches', 40)).toBe(6);
    expect(await passed('rides', 40)).toBe(4);
  });

  it('whose process is gone give back at expiry what they have charged, and to nobody else', async () => {
    const gone = apps.pop()!;
    const made = await Promise.all(
      USERS.flatMap((user) =>
        Array.from({ length: 3 }, () =>
          gone.app
            .get(RateLimiter)
            .reserve(['own', 'month'], userOf(user), { cost: 2, expires: '500ms', atExpiry: 'cancel' }),
        ),
      ),
    );
    // Two of three fit the quota of 5, and the third one runs over.
    expect(made.map(({ allowed }) => allowed)).toEqual(made.map(() => true));
    const left = async (policy: string): Promise<number[]> =>
      Promise.all(USERS.map(async (user) => (await pick(0).peek(policy, userOf(user))).policies[0]!.remaining));
    expect(await left('month')).toEqual(USERS.map(() => 1_000 - 6));
    expect((await pick(1).peek('credits')).policies[0]!.remaining).toBe(CREDITS - 2 * USERS.length);
    await gone[Symbol.asyncDispose]();
    await delay(600);
    // What makes the others look for reservations that are due.
    const other = { cost: 1, expires: '1h', atExpiry: 'cancel' } as const;
    await Promise.all(apps.map((_, i) => pick(i).reserve('classed', userOf('zoe'), other)));
    await until('all is given back', 15_000, async () => (await left('month')).every((one) => one === 1_000));
    await delay(300);
    expect((await pick(1).peek('credits')).policies[0]!.remaining).toBe(CREDITS);
    expect(await left('month')).toEqual(USERS.map(() => 1_000));
    const { policies } = await pick(0).peek('own', userOf('ada'));
    expect(policies[0]).toMatchObject({ policy: 'own', remaining: 5 });
  });
});
