import type { Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimitOverrides } from 'nestjs-floodgate';
import { asUser, type HttpApp } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, type RecipeModule, useRecipe } from './support/story.js';

interface Desk extends RecipeModule {
  readonly SupportDesk: Type<{
    why(user: string): Promise<string[]>;
    unblock(user: string, author: string): Promise<void>;
  }>;
}

const ADA = { kind: 'user', value: 'ada' } as const;
const EVE = 'eve@example.com';

const redis = useRedis();
const recipe = useRecipe<Desk>('docs/recipe-why-429.md', 'support.module.ts', { redis });

const three = (app: HttpApp, user = 'ada'): Promise<number[]> => app.statuses(3, '/rides', asUser(user));

describe.each(KINDS)('why a user gets a 429, over $platform with $store', (kind) => {
  it('is answered and mended by code', async () => {
    await using app = await recipe.open(kind);
    const desk = app.app.get(app.recipe.SupportDesk);
    const overrides = app.app.get(RateLimitOverrides);
    expect(await three(app)).toEqual([200, 200, 429]);
    expect(await desk.why('ada')).toEqual([
      expect.stringMatching(/^rides: rejected \(2 of 2 used\), passes at \d{4}-\d\d-\d\dT2[23]:00:00\.000Z$/),
    ]);
    expect(await desk.why('bob')).toEqual([]);

    await desk.unblock('ada', EVE);
    expect(await desk.why('ada')).toEqual([]);
    expect(await three(app)).toEqual([200, 200, 429]);

    await overrides.set({ policy: 'rides', identity: ADA }, { limit: 4 });
    expect(await three(app)).toEqual([200, 200, 429]);
    expect(await desk.why('ada')).toEqual([expect.stringContaining('rides: rejected (4 of 4 used)')]);
    expect(await three(app, 'bob')).toEqual([200, 200, 429]);
    const scope = 'GET /rides';
    await overrides.set({ policy: 'rides', identity: ADA, scope }, { blocked: true }, { reason: 'chargeback' });
    expect(await desk.why('ada')).toEqual(['rides: blocked (chargeback), passes at no known time']);
    await desk.unblock('ada', EVE);
    expect(await desk.why('ada')).toEqual([]);
    expect(await three(app)).toEqual([200, 200, 200]); // the raise to 4 is in force again
  });
});
