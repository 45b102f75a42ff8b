import type { Type } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import type { HttpApp, Platform } from '../../support/http-app.js';
import { Recipe } from '../../support/recipe.js';
import { useRedis } from '../../support/redis-fixture.js';
import { dial, requestFor } from '../support/waiting-routes.js';
import { atOnce, counts, KINDS, type RecipeModule, tell, type Told } from './support/story.js';

// docs/recipes.md, "Three requests in flight".

jest.setTimeout(30_000);

interface Exports extends RecipeModule {
  readonly Rows: Type<{ all(): Promise<string> }>;
}

const PODS = 3;
const ADA = { kind: 'user', value: 'ada' };

const redis = useRedis();
let recipe: Recipe;
const apps: Told<Exports>[] = [];
const running: (() => void)[] = [];

beforeAll(() => {
  recipe = Recipe.of('docs/recipes.md', 'exports.module.ts');
});

afterAll(() => recipe[Symbol.dispose]());

afterEach(async () => {
  for (const end of running.splice(0)) end();
  for (const app of apps.splice(0)) await app.close();
});

/** An instance, whose exports run until the test ends them. */
async function open(platform: Platform, url: string): Promise<Told<Exports>> {
  const app = await tell<Exports>(recipe, platform, url);
  jest.spyOn(app.app.get(app.recipe.Rows), 'all').mockImplementation(async () => {
    await new Promise<void>((resolve) => running.push(resolve));
    return 'rows';
  });
  return app;
}

const untilRunning = (count: number): Promise<unknown> =>
  until(`${count} exports`, 5_000, () => running.length === count);

async function untilFree({ app }: HttpApp, count: number): Promise<void> {
  await until(`${count} free`, 5_000, async () => {
    const { policies } = await app.get(RateLimiter).explain('GET /exports', ADA);
    return policies[0]!.level?.remaining === count;
  });
}

describe.each(KINDS)('three exports of a user at once, over $platform with $store', ({ platform, store }) => {
  it('run over all instances, and each that ends or loses its client makes room for one', async () => {
    const urls = store === 'Redis' ? Array<string>(PODS).fill(redis.server.url) : ['']; // without Redis each counts for itself
    for (const url of urls) apps.push(await open(platform, url));
    const statuses: number[] = [];
    const burst = (times: number): Promise<unknown> =>
      atOnce(times, async (i) => statuses.push((await apps[i % apps.length]!.as('ada', '/exports')).status));

    const first = burst(30);
    await until('27 rejections', 5_000, () => statuses.length === 27);
    await untilRunning(3);
    const bob = apps[0]!.as('bob', '/exports');
    await untilRunning(4);

    running.shift()!();
    await until('its end', 5_000, () => statuses.length === 28);
    await untilFree(apps.at(-1)!, 1);
    const second = burst(6);
    await until('5 rejections', 5_000, () => statuses.length === 33);
    await untilRunning(4);

    for (const end of running.splice(0)) end();
    await Promise.all([first, second]);
    expect(counts(statuses)).toEqual({ 200: 4, 429: 32 });
    expect((await bob).status).toBe(200);
    await untilFree(apps[0]!, 3);

    const client = await dial(apps[0]!.app);
    client.write(requestFor('/exports', 'ada'));
    await untilRunning(1);
    await untilFree(apps.at(-1)!, 2);
    client.destroy();
    await untilFree(apps.at(-1)!, 3);
  });
});
