import { describe, expect, it, jest } from '@jest/globals';
import { Recipe } from '../../support/recipe.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, tell } from './support/story.js';

// docs/recipes.md, "A cheaper answer over the quota".

jest.setTimeout(30_000);

const redis = useRedis();

describe.each(KINDS)('a soft limit, over $platform with $store', ({ platform, store }) => {
  it('answers with the cheaper model over the quota, and rejects by the hard limit alone', async () => {
    // As a reader who asks less of their patience than 100 questions.
    using recipe = Recipe.of('docs/recipes.md', 'assistant.module.ts', [
      ['limit: 100,', 'limit: 5,'],
      ["capacity: 20, refill: '20/m'", "capacity: 8, refill: '1/h'"],
    ]);
    await using app = await tell(recipe, platform, store === 'Redis' ? redis.server.url : '');
    const ask = async (user: string): Promise<unknown> => {
      const { status, body } = await app.as(user, '/assistant', { method: 'POST' });
      return status === 429 ? status : (body as { answer: string }).answer;
    };
    const counts: Record<string, number> = {};
    for (const answer of await Promise.all(Array.from({ length: 10 }, () => ask('ada')))) {
      counts[String(answer)] = (counts[String(answer)] ?? 0) + 1;
    }
    expect(counts).toEqual({ 'an answer of the large model': 5, 'an answer of the small model': 3, 429: 2 });
    expect(await ask('bob')).toBe('an answer of the large model');
    expect(app.logs.of('warn').filter((line) => line.includes('RateLimitDecision'))).toEqual([]);
  });
});
