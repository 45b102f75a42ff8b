import type { Type } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { atOnce, counts, KINDS, type RecipeModule, sendJson, type Told, useRecipe } from './support/story.js';

interface Answers extends RecipeModule {
  readonly Model: Type<{ answer(prompt: string): Promise<{ text: string; usage: { total: number } }> }>;
}

const ADA = { kind: 'user', value: 'ada' };

const { open } = useRecipe<Answers>('docs/recipe-token-budget.md', 'answers.module.ts');

async function ask(app: Told<Answers>, prompt = 'why?'): Promise<Response> {
  return sendJson(app, 'POST', '/answers', { prompt }, { 'X-User-Id': 'ada' });
}

/** What the next answers use. */
function uses(app: Told<Answers>, total: number) {
  const model = app.app.get(app.recipe.Model);
  return jest.spyOn(model, 'answer').mockImplementation(async (text) => ({ text, usage: { total } }));
}

/** The tokens of the day that count, once all settlements have been made. */
async function untilUsed(app: Told<Answers>, used: number): Promise<void> {
  await until(`${used} used`, 5_000, async () => {
    const { policies } = await app.app.get(RateLimiter).explain('POST /answers', ADA);
    return policies[0]!.level?.used === used;
  });
}

describe.each(KINDS)('a budget of tokens, over $platform with $store', (kind) => {
  it('is charged what the answers have used, and nothing for a failure', async () => {
    await using app = await open(kind);
    expect((await ask(app)).status).toBe(201);
    await untilUsed(app, 150);
    uses(app, 5_000);
    expect((await ask(app)).status).toBe(201);
    await untilUsed(app, 5_150);
    jest.spyOn(app.app.get(app.recipe.Model), 'answer').mockRejectedValue(new Error('overloaded'));
    expect((await ask(app)).status).toBe(500);
    await untilUsed(app, 5_150);
  });

  it('lets as many calls reach the model at once as estimates fit', async () => {
    await using app = await open(kind);
    uses(app, 95_000);
    await ask(app);
    await untilUsed(app, 95_000);
    let finish!: () => void;
    const answers = new Promise<void>((resolve) => (finish = resolve));
    const answer = jest.spyOn(app.app.get(app.recipe.Model), 'answer').mockImplementation(async (text) => {
      await answers;
      return { text, usage: { total: 100 } };
    });
    const before = answer.mock.calls.length;
    const rejected: number[] = [];
    const statuses = atOnce(10, async () => {
      const { status } = await ask(app);
      if (status === 429 && rejected.push(status) === 8) finish();
      return status;
    });
    expect(counts(await statuses)).toEqual({ 201: 2, 429: 8 });
    expect(answer).toHaveBeenCalledTimes(before + 2);
    await untilUsed(app, 95_200);
  });

  it('is overdrawn by an answer that used more, up to the overdraft, and then rejects until tomorrow', async () => {
    await using app = await open(kind);
    uses(app, 95_000);
    await ask(app);
    await untilUsed(app, 95_000);
    uses(app, 10_000);
    expect((await ask(app)).status).toBe(201);
    await until('the settlement', 5_000, async () => (await ask(app)).status === 429);
    const rejected = await ask(app);
    expect([rejected.status, rejected.headers.get('x-ratelimit-remaining')]).toEqual([429, '0']);
    const tomorrow = 86_400 - (Math.floor(Date.now() / 1000) % 86_400);
    expect(Math.abs(Number(rejected.headers.get('retry-after')) - tomorrow)).toBeLessThan(5);
  });
});
