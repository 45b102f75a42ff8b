import { describe, expect, it } from '@jest/globals';
import { counts, KINDS, useRecipe } from './support/story.js';

// As a reader who asks less of their patience than 100 questions.
const { open } = useRecipe('docs/recipe-soft-limit.md', 'assistant.module.ts', {
  changes: [
    ['limit: 100,', 'limit: 5,'],
    ['capacity: 20,', 'capacity: 8,'],
    ["refill: '20/m'", "refill: '1/h'"],
  ],
});

describe.each(KINDS)('a soft limit, over $platform with $store', (kind) => {
  it('answers with the cheaper model over the quota, and rejects by the hard limit alone', async () => {
    await using app = await open(kind);
    const ask = async (user: string): Promise<unknown> => {
      const { status, body } = await app.as(user, '/assistant', { method: 'POST' });
      return status === 429 ? status : (body as { answer: string }).answer;
    };
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask('ada')));
    expect(counts(answers as string[])).toEqual({
      'an answer of the large model': 5,
      'an answer of the small model': 3,
      429: 2,
    });
    expect(await ask('bob')).toBe('an answer of the large model');
    expect(app.logs.of('warn').filter((line) => line.includes('RateLimitDecision'))).toEqual([]);
  });
});
