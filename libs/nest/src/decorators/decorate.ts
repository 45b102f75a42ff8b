import { type Type, UseFilters } from '@nestjs/common';
import { RateLimitConfigError } from 'floodgate';
import { type Decoration, defineMetadata, ownMetadata, RATE_LIMIT } from '../handlers/metadata.js';
import { presenceCheck, RATE_LIMIT_PRESENT } from './presence.js';

/**
 * Stops a decorator without parentheses. TypeScript calls such a decorator with its class or method, and would take the returned
 * function for that class or method.
 *
 * @param args those of the decorator
 * @throws {RateLimitConfigError} naming the class and the method
 */
export function expectParentheses(decorator: string, args: readonly unknown[], right: string): void {
  const [target, property, descriptor] = args;
  const onClass = args.length === 1 && isClass(target); // a function that is no class may choose a policy
  const onMethod = args.length === 3 && ['string', 'symbol'].includes(typeof property) && isDescriptor(descriptor);
  if (!onClass && !onMethod) return;
  const place = placeOf(target as object, onClass ? undefined : (property as string));
  throw new RateLimitConfigError(place, `${decorator} needs its parentheses: ${right}`, 'FG_DECORATOR');
}

/** The place in messages, such as `RidesController.list`. */
export function placeOf(target: object, property: string | symbol | undefined): string {
  const owner = typeof target === 'function' ? target.name : target.constructor.name;
  return property === undefined ? owner : `${owner}.${String(property)}`;
}

function isClass(value: unknown): value is Type {
  return typeof value === 'function' && /^class\b/.test(Function.prototype.toString.call(value));
}

function isDescriptor(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'configurable' in value && ('value' in value || 'get' in value);
}

/**
 * Stores a decorator's metadata on a class or a method. A second decorator there would silently replace the first, so it is an
 * error. The exception is `@SkipRateLimit('name')` beside `@RateLimit`, which boot checks together.
 *
 * @param decorationOf gets the place, for messages
 */
export function decorate(
  decorator: '@RateLimit' | '@SkipRateLimit',
  decorationOf: (place: string) => Decoration,
): ClassDecorator & MethodDecorator {
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const place = placeOf(target, property);
    const fail = (problem: string): never => {
      throw new RateLimitConfigError(place, `${decorator} ${problem}`, 'FG_DECORATOR');
    };
    const isMethod = typeof target !== 'function' && typeof descriptor?.value === 'function';
    if (property !== undefined && !isMethod) fail('belongs on a class or on a method that handles requests');
    const given = decorationOf(place);
    if (given.policies?.includes(undefined as never) === true) fail('takes policies and names, got undefined');
    const known = ownMetadata(RATE_LIMIT, target, property, descriptor) as Decoration | undefined;
    if (known !== undefined && !canStandBeside(known, given)) {
      fail('stands beside another rate limit decorator: several policies go into one @RateLimit(a, b)');
    }
    defineMetadata(RATE_LIMIT, { ...known, ...given }, target, property, descriptor);
    // @SkipRateLimit is right wherever nothing is limited.
    if (given.policies === undefined) return;
    const missing =
      `${place}: @RateLimit has no effect, because RateLimitModule is not imported: add RateLimitModule.forRoot() to the ` +
      `imports of the root module`;
    const check = UseFilters(presenceCheck(RATE_LIMIT_PRESENT, missing));
    if (property === undefined) check(target as Type);
    else check(target, property, descriptor!);
  };
}

function canStandBeside(one: Decoration, other: Decoration): boolean {
  if (one.skips === 'all' || other.skips === 'all') return false;
  return (one.policies === undefined) !== (other.policies === undefined);
}
