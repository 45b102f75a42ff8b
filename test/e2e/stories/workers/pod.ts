import type { INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimiter } from 'nestjs-floodgate';
import type { Platform } from '../../../support/http-app.js';
import { serve } from '../../../support/processes/serve.js';
import { adapterOf, ready } from '../support/story.js';

/** What the recipe of three plans exports, as far as this process uses it. */
export interface Reports {
  readonly AppModule: Type;
  readonly Support: Type<{ raise(tenant: string, limit: number, author: string): Promise<void> }>;
}

let app: INestApplication;
let recipe: Reports;

export const procedures = {
  async open({ path, platform, redis }: { path: string; platform: Platform; redis: string }): Promise<string> {
    process.env.REDIS_URL = redis;
    recipe = (await import(path)) as Reports;
    app = await NestFactory.create(recipe.AppModule, adapterOf(platform), { logger: ['error', 'fatal'] });
    await app.listen(0, '127.0.0.1');
    await ready(app.get(RateLimiter));
    return app.getUrl();
  },

  raise: ({ tenant, limit }: { tenant: string; limit: number }): Promise<void> =>
    app.get(recipe.Support).raise(tenant, limit, 'eve@example.com'),

  /** The limit that this process holds a tenant to. */
  async limitOf(tenant: string): Promise<number | undefined> {
    const { policies } = await app.get(RateLimiter).explain('GET /reports', { kind: 'tenant', value: tenant });
    return policies[0]!.level?.limit;
  },
};

serve(procedures);
