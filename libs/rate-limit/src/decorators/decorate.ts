import { RateLimitConfigError } from '../policy/config-error.js';
import type { PolicySource } from '../policy/policy.js';
import { RATE_LIMIT } from './metadata.js';

/** Leaves `sources` on a class or a method; a second decorator there would silently replace the first, and is an error. */
export function decorate(decorator: string, sources: readonly PolicySource[]): ClassDecorator & MethodDecorator {
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const decorated: object = descriptor === undefined ? target : (descriptor.value as object);
    const owner = typeof target === 'function' ? target.name : target.constructor.name;
    if (Reflect.hasOwnMetadata(RATE_LIMIT, decorated)) {
      throw new RateLimitConfigError(
        property === undefined ? owner : `${owner}.${String(property)}`,
        `${decorator} stands beside another rate limit decorator: several policies go into one @RateLimit(a, b)`,
      );
    }
    Reflect.defineMetadata(RATE_LIMIT, sources, decorated);
  };
}
