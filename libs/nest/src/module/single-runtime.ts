import type { DiscoveryService } from '@nestjs/core';
import { RateLimitConfigError } from 'floodgate';
import { type Copy, textOf } from 'floodgate/internal';
import { howToMend } from './copies.js';

/** The token by which each configured module of any copy of the package provides its copy. */
export const CONFIGURED = Symbol.for('nestjs-floodgate:module-is-configured');

/**
 * Two modules would charge each request twice. They are found by their token: the application's own instances may be proxies
 * that throw at any question.
 */
export function expectAlone(discovery: DiscoveryService): void {
  const modules = discovery.getProviders().filter(({ token }) => token === CONFIGURED);
  if (modules.length <= 1) return;
  const copies = [...new Set(modules.map(({ instance }) => textOf(instance as Copy)))];
  throw new RateLimitConfigError(
    'RateLimitModule',
    copies.length === 1
      ? 'is imported twice with options: import it once, in the root module'
      : `is imported twice, from several copies of nestjs-floodgate: ${copies.join('; ')}. ${howToMend('nestjs-floodgate')}`,
    'FG_MODULE_IMPORT',
  );
}
