import type { Type } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import type { HttpApp } from '../../support/http-app.js';
import type { Kind } from '../support/kinds.js';
import { dial, requestFor } from '../support/waiting-routes.js';
import { atOnce, counts, KINDS, type RecipeModule, type Told, useRecipe } from './support/story.js';

interface Exports extends RecipeModule {
  readonly Rows: Type<{ all(): Promise<string> }>;
}

const PODS = 3;
const ADA = { kind: 'user', value: 'ada' };

const { open: tell } = useRecipe<Exports>('docs/recipe-in-flight.md', 'exports.module.ts');
const apps: Told<Exports>[] = [];
const running: (() => void)[] = [];

afterEach(async () => {
  for (const end of running.splice(0)) end();
  for (const app of apps.splice(0)) await app.close();
});

/** An instance, whose exports run until the test ends them. */
async function open(kind: Kind): Promise<Told<Exports>> {
  const app = await tell(kind);
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

describe.each(KINDS)('three exports of a user at once, over $platform with $store', (kind) => {
  it('run over all instances, and each that ends or loses its client makes room for one', async () => {
    // Without Redis each instance counts for itself.
    for (let i = 0; i < (kind.store === 'Redis' ? PODS : 1); i++) apps.push(await open(kind));
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
