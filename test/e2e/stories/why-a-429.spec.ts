import type { Type } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { RateLimitOverrides } from 'nestjs-floodgate';
import type { HttpApp } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, type RecipeModule, sendJson, useRecipe } from './support/story.js';

// docs/recipes.md, "Why a user gets a 429", and docs/admin.md, whose module serves the same over HTTP.

jest.setTimeout(30_000);

interface Desk extends RecipeModule {
  readonly SupportDesk: Type<{
    why(user: string): Promise<string[]>;
    unblock(user: string, author: string): Promise<void>;
    raise(policy: string, user: string, limit: number, author: string): Promise<void>;
  }>;
}

const EVE = 'eve@example.com';

const redis = useRedis();
const byCode = useRecipe<Desk>('docs/recipes.md', 'support.module.ts', { redis });
const byModule = useRecipe('docs/admin.md', 'app.module.ts', { redis });

/** The statuses of three requests, one after another. */
async function three(app: HttpApp, method: string, user = 'ada'): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await app.as(user, '/rides', { method })).status);
  return statuses;
}

describe.each(KINDS)('why a user gets a 429, over $platform with $store', (kind) => {
  it('is answered and mended by code', async () => {
    await using app = await byCode.open(kind);
    const desk = app.app.get(app.recipe.SupportDesk);
    expect(await three(app, 'GET')).toEqual([200, 200, 429]);
    expect(await desk.why('ada')).toEqual([
      expect.stringMatching(/^rides: rejected \(2 of 2 used\), passes at \d{4}-\d\d-\d\dT2[23]:00:00\.000Z$/),
    ]);
    expect(await desk.why('bob')).toEqual([]);

    await desk.unblock('ada', EVE);
    expect(await desk.why('ada')).toEqual([]);
    expect(await three(app, 'GET')).toEqual([200, 200, 429]);

    await desk.raise('rides', 'ada', 4, EVE);
    expect(await three(app, 'GET')).toEqual([200, 200, 429]);
    expect(await desk.why('ada')).toEqual([expect.stringContaining('rides: rejected (4 of 4 used)')]);
    expect(await three(app, 'GET', 'bob')).toEqual([200, 200, 429]);
    await app.app
      .get(RateLimitOverrides)
      .set(
        { policy: 'rides', identity: { kind: 'user', value: 'ada' }, scope: 'GET /rides' },
        { blocked: true },
        { reason: 'chargeback' },
      );
    expect(await desk.why('ada')).toEqual(['rides: blocked (chargeback), passes at no known time']);
    await desk.unblock('ada', EVE);
    expect(await desk.why('ada')).toEqual([]);
    expect(await three(app, 'GET')).toEqual([200, 200, 200]); // the raise to 4 is in force again
  });

  it('is answered and mended over REST', async () => {
    await using app = await byModule.open(kind);
    const ask = async (method: string, path: string, body: unknown, token = 'Bearer support') => {
      const reply = await sendJson(app, method, `/admin/limits/${path}`, body, { Authorization: token });
      return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
    };
    const identity = { kind: 'user', value: 'ada' };
    expect(await three(app, 'POST')).toEqual([201, 201, 429]);
    const about = { identity, route: 'POST /rides' };
    expect((await ask('POST', 'explain', about, 'Bearer ada')).status).toBe(403);
    const why = await ask('POST', 'explain', about);
    expect(why).toMatchObject({ status: 200, body: { isRejected: true } });
    expect(why.body['policies']).toMatchObject([
      { policy: 'rides', outcome: 'rejected', level: { used: 2, limit: 2 }, override: null },
    ]);

    expect((await ask('POST', 'reset', about)).body).toEqual({
      cleared: [{ policy: 'rides', scope: 'POST /rides', found: true }],
    });
    expect(await three(app, 'POST')).toEqual([201, 201, 429]);
    const change = {
      policy: 'rides',
      identity,
      change: { limit: 4 },
      expiresIn: '24h',
      author: EVE,
      reason: 'ticket 7',
    };
    expect((await ask('PUT', 'overrides', change)).status).toBe(200);
    expect(await three(app, 'POST')).toEqual([201, 201, 429]);
    expect(await three(app, 'POST', 'bob')).toEqual([201, 201, 429]);
    expect((await ask('POST', 'explain', about)).body['policies']).toMatchObject([
      { level: { used: 4, limit: 4 }, override: { author: EVE, reason: 'ticket 7' } },
    ]);
  });
});
