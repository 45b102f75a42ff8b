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

/** The message with which a boot fails, as the log shows it. */
export async function bootError(boot: RateLimitModuleOptions | (() => ModuleMetadata)): Promise<string> {
  try {
    const metadata = typeof boot === 'function' ? boot() : { imports: [RateLimitModule.forRoot(boot)] };
    const app = await start('Express', metadata);
    await app.close();
  } catch (error) {
    return String(error);
  }
  throw new Error('the application boots');
}

/** The warnings of a boot. */
export async function bootWarnings(boot: RateLimitModuleOptions | ModuleMetadata): Promise<string> {
  await using app = await start('Express', isMetadata(boot) ? boot : { imports: [RateLimitModule.forRoot(boot)] });
  return app.logs
    .of('warn')
    .map((text) => text.replace(/ RateLimit$/, ''))
    .join('\n');
}

function isMetadata(boot: RateLimitModuleOptions | ModuleMetadata): boot is ModuleMetadata {
  return 'imports' in boot || 'controllers' in boot;
}

/** Posts JSON. */
export function post({ port }: HttpApp, path: string, body: unknown): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' };
  return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** A message without the link to docs/errors.md, as that page shows it. */
export function withoutHelp(message: string): string {
  return message.replaceAll(/ \(see https:[^)]*\)/g, '');
}

/** Prints the message with which a boot fails. */
export async function explain(boot: RateLimitModuleOptions | (() => ModuleMetadata)): Promise<void> {
  console.log(withoutHelp(await bootError(boot)));
}

/** Prints the warnings of a boot. */
export async function explainWarnings(boot: RateLimitModuleOptions | ModuleMetadata): Promise<void> {
  console.log(withoutHelp(await bootWarnings(boot)));
}
