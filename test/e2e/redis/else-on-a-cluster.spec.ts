import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Identity, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { useCluster } from '../../support/faults/cluster-fixture.js';
import { type HttpApp, start } from '../../support/http-app.js';

const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user' } as const;
/** In several slots, so on several nodes. */
const USERS = ['ada', 'bob', 'eve', 'joe', 'kim', 'lou'];
const CREDITS = 30;

const POLICIES = {
  own: { ...WINDOW, limit: 5, else: 'credits' },
  credits: { ...WINDOW, limit: CREDITS, by: 'global' },
  month: { ...WINDOW, limit: 1_000 },
} as const satisfies Record<string, Policy>;

const fixture = useCluster();
let apps: HttpApp[];
const userOf = (value: string): Identity => ({ kind: 'user', value });
const pick = (i: number): RateLimiter => apps[i % apps.length]!.app.get(RateLimiter);

beforeEach(async () => {
  apps = [];
  for (let i = 0; i < 3; i++) {
    const redis = fixture.client;
    const options = { redis, policies: POLICIES, deadline: '10s', onStoreFailure: 'closed' } as const;
    apps.push(await start('Express', { imports: [RateLimitModule.forRoot(options)] }));
  }
});

afterEach(async () => {
  for (const app of apps) await app[Symbol.asyncDispose]();
});

it('requests of several processes run over into credits of another slot of a Cluster: no unit more, and none is lost', async () => {
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
