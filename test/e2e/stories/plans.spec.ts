import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { overrideRateLimitStore, VirtualClock } from 'nestjs-floodgate/testing';
import { adapterOf } from '../../support/http-app.js';
import { Recipe } from '../../support/recipe.js';
import { atOnce, type RecipeModule } from './support/story.js';

const DAY_MS = 24 * 3_600_000;

interface Reports extends RecipeModule {
  readonly Support: Type<{ raise(tenant: string, limit: number, author: string): Promise<void> }>;
}

let recipe: Recipe;

beforeAll(() => {
  recipe = Recipe.of('docs/recipe-plans.md', 'reports.module.ts');
});

afterAll(() => recipe[Symbol.dispose]());

/** How many of a tenant's requests pass, sent at once. */
async function passing(url: string, tenant: string, requests: number): Promise<number> {
  const replies = await atOnce(requests, () => fetch(`${url}/reports`, { headers: { 'X-Tenant-Id': tenant } }));
  expect(replies.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
  return replies.filter(({ status }) => status === 200).length;
}

describe('three plans', () => {
  it('hold, and so does the raise of one tenant, for 24 hours', async () => {
    const clock = new VirtualClock();
    const { AppModule, Support } = await recipe.import<Reports>('');
    const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), clock);
    const app = (await builder.compile()).createNestApplication(adapterOf('Fastify'));
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const limitOf = async (tenant: string): Promise<string | null> =>
      (await fetch(`${url}/reports`, { headers: { 'X-Tenant-Id': tenant } })).headers.get('x-ratelimit-limit');
    expect(await passing(url, 'initech', 12)).toBe(10);
    expect(await passing(url, 'acme', 52)).toBe(50);
    expect(await passing(url, 'globex', 202)).toBe(200);
    await app.get(Support).raise('initech', 30, 'eve@example.com');
    expect(await passing(url, 'initech', 22)).toBe(20);
    expect(await passing(url, 'acme', 10)).toBe(0);
    clock.advance(DAY_MS - 1);
    expect(await limitOf('initech')).toBe('30');
    clock.advance(1);
    expect(await limitOf('initech')).toBe('10');
    await app.close();
  });
});
