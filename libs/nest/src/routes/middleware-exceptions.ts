import type { Type } from '@nestjs/common';
import { firstNames } from '../handlers/first-names.js';
import { pathOf } from '../handlers/route.js';
import type { Route } from './route-policies.js';
import { isExempt } from './route-sources.js';
import type { Handler } from '../handlers/route.js';
import type { LimitableHandler } from '../contexts/limitable-handlers.js';

/** Whether the middleware lets the requests to a handler through. The application's prefix and version may come before its path. */
export function isExcepted(type: Type, handler: Handler, except: readonly string[]): boolean {
  const path = pathOf(type, handler);
  return except.some((one) => one.endsWith(path));
}

/**
 * Names the handlers with `@SkipRateLimit()` whose requests the module's middleware counts.
 *
 * @param except undefined where the application does not say what the middleware leaves out
 * @returns undefined without any
 */
export function skippedButCounted(
  handlers: readonly LimitableHandler[],
  middleware: Route | undefined,
  except: readonly string[] | undefined,
): string | undefined {
  const counting = middleware?.unconditional.filter(({ skipIf }) => skipIf === undefined) ?? [];
  // An empty list says that this is meant.
  if (counting.length === 0 || except?.length === 0) return undefined;
  const counted = handlers.filter(
    ({ type, handler, adapter }) =>
      adapter.type === 'http' && isExempt(type, handler) && !isExcepted(type, handler, except ?? []),
  );
  if (counted.length === 0) return undefined;
  const names = firstNames(counted.map(({ name }) => name));
  return (
    `RateLimitModule, middleware: it counts requests to ${names}, which @SkipRateLimit() leaves out of routes only: give ` +
    `middleware { policies, except: ['${pathOf(counted[0]!.type, counted[0]!.handler)}'] }, or except: [] if this is meant`
  );
}
