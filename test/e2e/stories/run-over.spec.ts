import type { Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { OverrideConflictError, RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { useRedis } from '../../support/redis-fixture.js';
import type { Kind } from '../support/kinds.js';
import { atOnce, counts, KINDS, type RecipeModule, type Told, useRecipe } from './support/story.js';

interface Searches extends RecipeModule {
  readonly Billing: Type<{ buy(tenant: string, credits: number, invoice: string): Promise<void> }>;
}

const redis = useRedis();
const searches = useRecipe<Searches>('docs/recipe-credits.md', 'searches.module.ts', { redis });
const shares = useRecipe('docs/recipe-shares.md', 'shares.module.ts', { redis });

interface Opening<T extends RecipeModule> {
  readonly open: (kind: Kind) => Promise<Told<T>>;
}

/** Two instances on one Redis, or one in memory. */
async function instances<T extends RecipeModule>({ open }: Opening<T>, kind: Kind): Promise<Told<T>[]> {
  return kind.store === 'memory' ? [await open(kind)] : [await open(kind), await open(kind)];
}

async function send(apps: readonly Told<RecipeModule>[], tenant: string, times: number, path: string, method = 'GET') {
  const ask = (i: number) => apps[i % apps.length]!.send(path, { method, headers: { 'X-Tenant-Id': tenant } });
  return counts((await atOnce(times, ask)).map(({ status }) => status));
}

describe.each(KINDS)('over $platform with $store', (kind) => {
  it('searches take the month, then the credits, and what is bought', async () => {
    const apps = await instances(searches, kind);
    const [first] = apps as [Told<Searches>];
    const ranOver = () => apps.flatMap(({ app }) => app.get(RateLimiter).stats().runOver);
    const credits = () => ranOver().reduce((sum, { requests }) => sum + requests, 0);
    // None of the searches is refunded, so no credit is taken before the month is used up.
    expect(await send(apps, 'acme', 100, '/search')).toEqual({ 200: 100 });
    expect(ranOver()).toEqual([]);
    expect(await send(apps, 'acme', 20, '/search')).toEqual({ 200: 10, 429: 10 });
    expect(credits()).toBe(10);
    expect(await send(apps, 'globex', 115, '/search')).toEqual({ 200: 110, 429: 5 });

    const billing = first.app.get(first.recipe.Billing);
    await billing.buy('acme', 25, 'invoice 1');
    await billing.buy('acme', 5, 'invoice 2');
    const acme = { kind: 'tenant', value: 'acme' };
    const knows = async ({ app }: Told<Searches>) =>
      (await app.get(RateLimiter).peek('credits', acme)).policies[0]!.remaining === 30;
    await until('all instances know', 5_000, async () => (await Promise.all(apps.map(knows))).every(Boolean));
    expect(await send(apps, 'acme', 50, '/search')).toEqual({ 200: 30, 429: 20 });
    expect(await send(apps, 'globex', 5, '/search')).toEqual({ 429: 5 });

    // Two purchases at once: one of them has to try again, and none is lost.
    const bought = await Promise.allSettled([1, 2].map(() => billing.buy('globex', 7, 'invoice 3')));
    const failed = bought.filter((one) => one.status === 'rejected');
    expect(failed.map(({ reason }) => (reason as Error).constructor)).toEqual([OverrideConflictError]);
    await Promise.all(apps.map((app) => app.close()));
  });

  it('each tenant has its share, and all together the surplus, none above its ceiling', async () => {
    const apps = await instances(shares, kind);
    expect(await send(apps, 'acme', 90, '/exports', 'POST')).toEqual({ 201: 50, 429: 40 });
    const [globex, initech] = await Promise.all([
      send(apps, 'globex', 60, '/exports', 'POST'),
      send(apps, 'initech', 60, '/exports', 'POST'),
    ]);
    // 30 of the surplus are left for both.
    expect(globex[201]! + initech[201]!).toBe(20 + 20 + 30);
    for (const tenant of [globex, initech]) {
      expect(tenant[201]).toBeGreaterThanOrEqual(20);
      expect(tenant[201]).toBeLessThanOrEqual(50);
    }
    expect(await send(apps, 'umbrella', 30, '/exports', 'POST')).toEqual({ 201: 20, 429: 10 });
    await Promise.all(apps.map((app) => app.close()));
  });
});
