import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { overrideRateLimitStore, VirtualClock } from 'nestjs-floodgate/testing';
import { ClockedRedis } from '../../support/faults/clocked-redis.js';
import { until } from '../../support/faults/until.js';
import { PLATFORMS } from '../../support/http-app.js';
import { Processes } from '../../support/processes/processes.js';
import { Recipe } from '../../support/recipe.js';
import { adapterOf, atOnce } from './support/story.js';
import type { procedures, Reports } from './workers/pod.js';

// docs/recipes.md, "Three plans, and a raise for one tenant".

jest.setTimeout(90_000);

const PODS = 3;
const DAY_MS = 24 * 3_600_000;

let recipe: Recipe;

beforeAll(() => {
  recipe = Recipe.of('docs/recipes.md', 'reports.module.ts');
});

afterAll(() => recipe[Symbol.dispose]());

/** How many of a tenant's requests pass, sent to all processes at once. */
async function passing(urls: readonly string[], tenant: string, requests: number): Promise<number> {
  const replies = await atOnce(requests, (i) =>
    fetch(`${urls[i % urls.length]}/reports`, { headers: { 'X-Tenant-Id': tenant } }),
  );
  expect(replies.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
  return replies.filter(({ status }) => status === 200).length;
}

async function expectPlans(urls: readonly string[]): Promise<void> {
  expect(await passing(urls, 'initech', 60)).toBe(10);
  expect(await passing(urls, 'acme', 120)).toBe(50);
  expect(await passing(urls, 'globex', 300)).toBe(200);
}

describe.each(PLATFORMS)('three plans over %s', (platform) => {
  it('hold over three processes on one Redis, and so does the raise of one tenant, for 24 hours', async () => {
    await using redis = await ClockedRedis.start();
    await using pods = await Processes.start<typeof procedures>(new URL('workers/pod.ts', import.meta.url), PODS);
    const urls = await pods.all('open', () => ({ path: recipe.path, platform, redis: redis.server.url }));
    await expectPlans(urls);

    const limits = (tenant: string): Promise<readonly unknown[]> => pods.all('limitOf', () => tenant);
    await pods.one(0, 'raise', { tenant: 'initech', limit: 30 });
    expect(await pods.one(0, 'limitOf', 'initech')).toBe(30);
    await until('all obey', 5_000, async () => (await limits('initech')).every((limit) => limit === 30));
    expect(await passing(urls, 'initech', 60)).toBe(20);
    expect(await passing(urls, 'acme', 10)).toBe(0);

    redis.setAhead(DAY_MS - 60_000);
    expect(await limits('initech')).toEqual([30, 30, 30]);
    redis.setAhead(DAY_MS + 60_000);
    await until('the raise ends', 5_000, async () => (await limits('initech')).every((limit) => limit === 10));
    expect(await limits('acme')).toEqual([50, 50, 50]);
  });

  it('hold in one process without Redis, and so does the raise, for 24 hours', async () => {
    const clock = new VirtualClock();
    const { AppModule, Support } = await recipe.import<Reports>('');
    const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), clock);
    const app = (await builder.compile()).createNestApplication(adapterOf(platform));
    await app.listen(0, '127.0.0.1');
    const urls = [await app.getUrl()];
    const limitOf = async (tenant: string): Promise<string | null> =>
      (await fetch(`${urls[0]}/reports`, { headers: { 'X-Tenant-Id': tenant } })).headers.get('x-ratelimit-limit');
    await expectPlans(urls);
    await app.get(Support).raise('initech', 30, 'eve@example.com');
    expect(await passing(urls, 'initech', 60)).toBe(20);
    expect(await passing(urls, 'acme', 10)).toBe(0);
    clock.advance(DAY_MS - 1);
    expect(await limitOf('initech')).toBe('30');
    clock.advance(1);
    expect(await limitOf('initech')).toBe('10');
    await app.close();
  });
});
