import { type Type, UseFilters } from '@nestjs/common';
import { RateLimitConfigError } from '../../util/config-error.js';
import type { PolicySource } from '../types.js';
import { RATE_LIMIT } from './metadata.js';
import { presenceCheck, RATE_LIMIT_PRESENT } from './presence.js';

/** Leaves `sources` on a class or a method. A second decorator there would silently replace the first, and is an error. */
export function decorate(decorator: string, sources: readonly PolicySource[]): ClassDecorator & MethodDecorator {
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const owner = typeof target === 'function' ? target.name : target.constructor.name;
    const place = property === undefined ? owner : `${owner}.${String(property)}`;
    const fail = (problem: string): never => {
      throw new RateLimitConfigError(place, `${decorator} ${problem}`, 'FG_DECORATOR');
    };
    const isMethod = typeof target !== 'function' && typeof descriptor?.value === 'function';
    if (property !== undefined && !isMethod) fail('belongs on a class or on a method that handles requests');
    if (sources.some((source) => source === undefined)) fail('takes policies and names, got undefined');
    const decorated = property === undefined ? target : (descriptor!.value as object);
    if (Reflect.hasOwnMetadata(RATE_LIMIT, decorated)) {
      fail('stands beside another rate limit decorator: several policies go into one @RateLimit(a, b)');
    }
    Reflect.defineMetadata(RATE_LIMIT, sources, decorated);
    if (sources.length === 0) return;
    const missing =
      `${place}: @RateLimit has no effect, because RateLimitModule is not imported: add RateLimitModule.forRoot() to the ` +
      `imports of the root module`;
    const check = UseFilters(presenceCheck(RATE_LIMIT_PRESENT, missing));
    if (property === undefined) check(target as Type);
    else check(target, property, descriptor!);
  };
}
