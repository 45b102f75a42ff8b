import { ON_MISSING_IDENTITY } from '../identity/identity.js';
import { isKind } from '../identity/identity-tag.js';
import { shown } from '../util/config-error.js';
import { hasMethods, isFunction, isObject, oneOf, type OptionRule, wrongMember } from '../util/option-rules.js';
import { HEADER_FORMATS, type HeaderFormat } from './headers.js';

const addressList = {
  default: undefined,
  valid: (value) => Array.isArray(value) || isFunction(value),
  wanted: 'an array of addresses and CIDR ranges, or a function of the address',
} as const satisfies OptionRule;

/** The options of what limits requests of HTTP, whatever the framework is. */
export const REQUEST_OPTIONS = {
  identity: {
    default: undefined,
    valid: (value) => Array.isArray(value) && value.every(isResolver),
    wanted: 'an array of resolvers such as userIdentity() or { kind, resolve }, each kind 1 to 16 of a-z, 0-9 and -',
    got: wrongMember(wrongResolver),
  },
  allowList: addressList,
  blockList: addressList,
  onMissingIdentity: oneOf(ON_MISSING_IDENTITY, 'ip'),
  headers: oneOf<HeaderFormat | false>([...HEADER_FORMATS, false], 'x-ratelimit'),
} as const satisfies Record<string, OptionRule>;

function isResolver(value: unknown): boolean {
  return hasMethods(value, ['resolve']) && isKind((value as { readonly kind?: unknown }).kind);
}

function wrongResolver(value: unknown): string | undefined {
  if (isResolver(value)) return undefined;
  // userIdentity instead of userIdentity(), for example.
  if (typeof value === 'function')
    return `${value.name === '' ? 'a function' : `the function ${value.name}`}, which is not called,`;
  if (!isObject(value)) return shown(value);
  if (value.kind === 'key') return `kind 'key', where API keys have the kind 'api-key',`;
  return isKind(value.kind) ? `kind ${shown(value.kind)} without a function resolve` : `kind ${shown(value.kind)}`;
}
