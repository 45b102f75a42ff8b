import { describe, expect, it } from '@jest/globals';
import { Exposition } from '../../support/exposition.js';
import { Recipe } from '../../support/recipe.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, type RecipeModule, tell, type Told } from './support/story.js';

const PAGE = 'docs/recipe-shadow.md';
const USERS = { ada: 25, bob: 7, cleo: 11 } as const;
/** What a limit of 10 rejects. */
const WOULD_BE = { ada: 15, bob: 0, cleo: 1 } as const;
const ALGORITHM = 'sliding-window-counter';

const redis = useRedis();

/** The rejected requests of each user. */
async function rejections(app: Told<RecipeModule>): Promise<Record<string, number>> {
  const rejected: Record<string, number> = {};
  for (const [user, requests] of Object.entries(USERS)) {
    const crowd = await app.crowd(requests, '/fares', { headers: { 'X-User-Id': user } });
    expect((crowd[200] ?? 0) + (crowd[429] ?? 0)).toBe(requests);
    rejected[user] = crowd[429] ?? 0;
  }
  return rejected;
}

async function metricsOf(app: Told<RecipeModule>): Promise<(name: string, policy: string) => number | undefined> {
  const exposition = new Exposition((await app.send('/metrics')).text);
  return (name, policy) => exposition.get(`rate_limiter_${name}_total`, { policy, algorithm: ALGORITHM });
}

describe.each(KINDS)('a roll-out in the shadow, over $platform with $store', ({ platform, store }) => {
  it('rejects no request, counts what it would, and rejects exactly that once it is enforced', async () => {
    const url = store === 'Redis' ? redis.server.url : '';
    {
      using recipe = Recipe.of(PAGE, 'fares.module.ts');
      await using app = await tell(recipe, platform, url);
      expect(await rejections(app)).toEqual({ ada: 0, bob: 0, cleo: 0 });
      const metric = await metricsOf(app);
      expect([metric('requests', 'fares'), metric('rejected', 'fares')]).toEqual([43, 0]);
      expect(metric('shadow_requests', 'fares-10')).toBe(43);
      expect(metric('shadow_allowed', 'fares-10')).toBe(27);
      expect(metric('shadow_rejected', 'fares-10')).toBe(16);
      expect(metric('rejected', 'fares-10')).toBeUndefined();
    }
    if (store === 'Redis') await redis.client.flushdb();
    using recipe = enforce();
    await using app = await tell(recipe, platform, url);
    expect(await rejections(app)).toEqual(WOULD_BE);
    const metric = await metricsOf(app);
    expect([metric('requests', 'fares'), metric('rejected', 'fares')]).toEqual([43, 16]);
    expect(metric('shadow_requests', 'fares-10')).toBeUndefined();
  });
});

it('a roll-out that is enforced without a pause goes on counting in Redis', async () => {
  using tried = Recipe.of(PAGE, 'fares.module.ts');
  await using app = await tell(tried, 'Express', redis.server.url);
  expect(await rejections(app)).toEqual({ ada: 0, bob: 0, cleo: 0 });
  using enforced = enforce();
  await using next = await tell(enforced, 'Express', redis.server.url);
  expect((await next.as('ada', '/fares')).status).toBe(429); // 25 of 10
  expect(await next.crowd(5, '/fares', { headers: { 'X-User-Id': 'bob' } })).toEqual({ 200: 3, 429: 2 }); // 7 of 10
});

/** The page's second step: the number that was tried is the limit. */
function enforce(): Recipe {
  return Recipe.of(PAGE, 'fares.module.ts', [
    ['limit: 100,', 'limit: 10,'],
    [", {\n    ...FARES,\n    name: 'fares-10',\n    limit: 10,\n    mode: 'shadow',\n  }", ''],
  ]);
}
