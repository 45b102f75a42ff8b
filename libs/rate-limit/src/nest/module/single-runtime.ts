import type { DiscoveryService } from '@nestjs/core';
import { RateLimitConfigError } from '../../util/config-error.js';
import { type Copy, HOW_TO_MEND, textOf } from './copies.js';

/** Marks the runtimes of any copy of the package. */
export const RUNTIME = Symbol.for('nestjs-floodgate:runtime');

/** The copies of the package that the application's runtimes are of. */
export function runtimesOf(discovery: DiscoveryService): Copy[] {
  return discovery.getProviders().flatMap(({ instance }) => (instance as { [RUNTIME]?: Copy } | null)?.[RUNTIME] ?? []);
}

/** Two modules would charge each request twice. */
export function expectAlone(runtimes: readonly Copy[]): void {
  if (runtimes.length <= 1) return;
  const copies = [...new Set(runtimes.map(textOf))];
  throw new RateLimitConfigError(
    'RateLimitModule',
    copies.length === 1
      ? 'is imported twice with options: import it once, in the root module'
      : `is imported twice, from several copies of nestjs-floodgate: ${copies.join('; ')}. ${HOW_TO_MEND}`,
    'FG_MODULE_IMPORT',
  );
}
