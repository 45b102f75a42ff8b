import type { ModuleMetadata, Type } from '@nestjs/common';
import { RateLimiter, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, type Platform, start } from '../../support/http-app.js';

/** For the hidden code of the pages: boots a module as a user would. */
export function serve(module: Type, platform: Platform = 'Express'): Promise<HttpApp> {
  return start(platform, { imports: [module] });
}

/** Boots controllers and providers with options of the module, and gives them the limiter. */
export async function withLimiter(
  options: RateLimitModuleOptions,
  metadata: ModuleMetadata = {},
): Promise<HttpApp & { limiter: RateLimiter }> {
  const app = await start('Express', {
    ...metadata,
    imports: [RateLimitModule.forRoot(options), ...(metadata.imports ?? [])],
  });
  return Object.assign(app, { limiter: app.app.get(RateLimiter) });
}

/** Posts JSON. */
export function post({ port }: HttpApp, path: string, body: unknown): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' };
  return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}
