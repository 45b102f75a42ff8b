import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { overrideRateLimitStore, VirtualClock } from 'nestjs-floodgate/testing';
import { Test } from '@nestjs/testing';
import { adapterOf } from '../../support/http-app.js';
import { Recipe } from '../../support/recipe.js';
import { counts, type RecipeModule } from './support/story.js';

const LIMIT = 100;
/** Midnights in Paris at which a month begins: over both changes of the clocks, and a leap day. */
const EDGES = [
  { month: 'March 2026, to summer time', start: '2026-02-28T23:00:00Z', next: '2026-03-31T22:00:00Z' },
  { month: 'October 2026, to winter time', start: '2026-09-30T22:00:00Z', next: '2026-10-31T23:00:00Z' },
  { month: 'February 2028, of 29 days', start: '2028-01-31T23:00:00Z', next: '2028-02-29T23:00:00Z' },
] as const;

let recipe: Recipe;

beforeAll(() => {
  recipe = Recipe.of('docs/recipe-monthly-quota.md', 'quota.module.ts');
});

afterAll(() => recipe[Symbol.dispose]());

type Send = () => Promise<{ readonly status: number; readonly retryAfter: number }>;

/** Sends 110 requests at once: exactly the quota passes. */
async function expectQuota(send: Send): Promise<void> {
  const replies = await Promise.all(Array.from({ length: LIMIT + 10 }, send));
  expect(counts(replies.map(({ status }) => status))).toEqual({ 200: LIMIT, 429: 10 });
}

describe('a monthly quota in Paris', () => {
  it.each(EDGES)('is one for $month, to the microsecond', async ({ start, next }) => {
    const clock = new VirtualClock(start);
    clock.stepBack('1ms');
    const { AppModule } = await recipe.import<RecipeModule>('');
    const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), clock);
    const app = (await builder.compile()).createNestApplication(adapterOf('Express'), { logger: false });
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const send: Send = async () => {
      const { status, headers } = await fetch(`${url}/reports`, { headers: { 'X-User-Id': 'ada' } });
      return { status, retryAfter: Number(headers.get('retry-after')) };
    };
    const seconds = (Date.parse(next) - Date.parse(start)) / 1000;

    await expectQuota(send); // of the month before
    clock.advance(1);
    await expectQuota(send);
    expect(await send()).toEqual({ status: 429, retryAfter: seconds });
    clock.advanceTo(new Date(Date.parse(start) + 15 * 86_400_000).toISOString());
    expect(await send()).toEqual({ status: 429, retryAfter: seconds - 15 * 86_400 });
    clock.advanceTo(next);
    clock.stepBack('1ms');
    clock.advanceMicroseconds(999);
    expect(await send()).toEqual({ status: 429, retryAfter: 1 });
    clock.advanceMicroseconds(1);
    await expectQuota(send);
    await app.close();
  });
});
