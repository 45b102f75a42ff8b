import type { Server } from 'node:http';
import type { Type } from '@nestjs/common';
import { afterAll, beforeAll } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { withoutDeadline } from '../../../concurrency/support/without-deadline.js';
import { until } from '../../../support/faults/until.js';
import { type HttpApp, type Platform, start } from '../../../support/http-app.js';
import { Recipe } from '../../../support/recipe.js';
import { type RedisFixture, useRedis } from '../../../support/redis-fixture.js';
import type { Kind } from '../../support/kinds.js';

export { KINDS } from '../../support/kinds.js';

/** What every recipe exports. */
export interface RecipeModule {
  readonly AppModule: Type;
}

/** An application of a recipe, and what else the recipe's file exports. */
export type Told<T extends RecipeModule> = HttpApp & { readonly recipe: T };

/** Boots a recipe as it stands. An empty URL is an application without Redis. */
export async function tell<T extends RecipeModule>(
  recipe: Recipe,
  platform: Platform,
  redisUrl: string,
): Promise<Told<T>> {
  const module = await recipe.import<T>(redisUrl);
  const app = await start(platform, { imports: [module.AppModule] });
  // Each copy reads the URL for itself: a story for Redis must not be told in memory.
  if (app.logs.text.includes('Limits are kept in Redis') !== (redisUrl !== '')) throw new Error(app.logs.text);
  // On a busy machine more than 5 s pass between two requests: the client must not meet a socket that the server just closes.
  (app.app.getHttpServer() as Server).keepAliveTimeout = 0;
  await ready(app.app.get(RateLimiter));
  return Object.assign(app, { recipe: module });
}

/** Prepares a recipe of a page for a file of tests, and a Redis where none is given. */
export function useRecipe<T extends RecipeModule>(
  page: string,
  file: string,
  { changes = [], redis = useRedis() }: { changes?: [string, string][]; redis?: RedisFixture } = {},
) {
  let recipe: Recipe;
  beforeAll(() => {
    recipe = Recipe.of(page, file, changes);
  });
  afterAll(() => recipe[Symbol.dispose]());
  return {
    open: ({ platform, store }: Kind): Promise<Told<T>> =>
      tell<T>(recipe, platform, store === 'Redis' ? redis.server.url : ''),
  };
}

/** Waits until the store decides, and removes the deadline: on a busy machine an exact count would be a process's own. */
export async function ready(limiter: RateLimiter): Promise<void> {
  await withoutDeadline(limiter);
  const any = { name: 'any', algorithm: 'fixed-window', limit: 1, window: '1m' } as const;
  await until('the store decides', 20_000, async () => (await limiter.peek(any, USER)).decidedBy === 'store');
}

const USER = { kind: 'user', value: 'nobody' };

/** Sends JSON. */
export function sendJson(
  { port }: HttpApp,
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** How many there are of each. */
export function counts(values: readonly (number | string)[]): Record<string, number> {
  const found: Record<string, number> = {};
  for (const value of values) found[value] = (found[value] ?? 0) + 1;
  return found;
}

/** Calls a function a number of times at once. */
export function atOnce<T>(times: number, call: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: times }, (_, i) => call(i)));
}
