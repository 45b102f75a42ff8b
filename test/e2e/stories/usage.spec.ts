import type { Type } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import type { ThresholdEvent } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import type { HttpApp } from '../../support/http-app.js';
import { atOnce, counts, KINDS, type RecipeModule, type Told, useRecipe } from './support/story.js';

interface Usage extends RecipeModule {
  readonly Mails: Type<{ send(event: ThresholdEvent): void }>;
}

const { open } = useRecipe<Usage>('docs/recipe-usage.md', 'usage.module.ts');

/** The mails of an application, by their customer and level. */
function mailsOf(app: Told<Usage>): string[] {
  const sent: string[] = [];
  const mails = app.app.get(app.recipe.Mails);
  jest.spyOn(mails, 'send').mockImplementation(({ identity, level }) => void sent.push(`${identity} ${level}`));
  return sent;
}

const used = async (app: HttpApp, user: string): Promise<unknown> => (await app.as(user, '/usage')).body;

describe.each(KINDS)('usage and warnings, over $platform with $store', (kind) => {
  it('GET /usage says what is used, as often as it is asked, and charges nothing', async () => {
    await using app = await open(kind);
    mailsOf(app);
    for (let i = 0; i < 3; i++) await app.as('ada', '/reports');
    const now = new Date();
    const resetsAt = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
    for (let i = 0; i < 5; i++) {
      expect(await used(app, 'ada')).toEqual([{ policy: 'monthly', limit: 10, used: 3, resetsAt }]);
    }
    expect(await used(app, 'bob')).toMatchObject([{ used: 0 }]);
    expect((await app.as('ada', '/reports')).headers['x-ratelimit-remaining']).toBe('6');
    expect((await app.send('/usage')).status).toBe(401);
  });

  it('GET /usage has a limit of its own', async () => {
    await using app = await open(kind);
    const replies = await atOnce(30, () => app.as('ada', '/usage'));
    expect(counts(replies.map(({ status }) => status))[200]).toBeLessThan(15);
    expect((await app.as('ada', '/reports')).headers['x-ratelimit-remaining']).toBe('9');
  });

  it('a customer gets a mail at 80 %, and one at 100 %', async () => {
    await using app = await open(kind);
    const sent = mailsOf(app);
    for (let i = 0; i < 7; i++) await app.as('ada', '/reports');
    expect(sent).toEqual([]);
    const replies = await atOnce(20, () => app.as('ada', '/reports'));
    expect(counts(replies.map(({ status }) => status))).toEqual({ 200: 3, 429: 17 });
    await until('two mails', 5_000, () => sent.length > 1);
    for (let i = 0; i < 5; i++) await app.as('ada', '/reports');
    expect(sent).toEqual(['user:ada 0.8', 'user:ada 1']);
  });
});

it('two applications on one Redis send each mail once', async () => {
  await using one = await open({ platform: 'Express', store: 'Redis' });
  await using other = await open({ platform: 'Fastify', store: 'Redis' });
  const sent = [mailsOf(one), mailsOf(other)];
  await atOnce(10, async () => {
    await Promise.all([one.as('ada', '/reports'), other.as('ada', '/reports')]);
  });
  await until('two mails', 5_000, () => sent.flat().length > 1);
  await used(one, 'ada');
  await used(other, 'ada');
  expect(sent.flat().toSorted()).toEqual(['user:ada 0.8', 'user:ada 1']);
});
