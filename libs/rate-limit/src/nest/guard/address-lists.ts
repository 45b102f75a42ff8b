import type { ExecutionContext } from '@nestjs/common';
import { AddressList } from '../../http/address-list.js';
import { ClientGoneError } from '../../identity/errors.js';
import { addressOf } from '../../identity/resolvers.js';
import type { UserFunctions } from '../../engine/functions/user-functions.js';
import { shown } from '../../util/config-error.js';
import { requestOf } from './http-context.js';
import type { HasGone } from './identity-chain.js';
import type { RateLimitModuleOptions } from '../options/module-options.js';

/** The list that an address is in: `'allow'` beats `'block'`. */
export type Listed = 'allow' | 'block' | 'neither';

/** Counts the requests whose address is in a list. */
export interface ListObserver {
  addressListed(list: 'allow' | 'block'): void;
}

type ListOption = 'allowList' | 'blockList';
type Lookup = (ip: string, context: ExecutionContext) => boolean | Promise<boolean>;

const ALL_BITS = '/128';

/** The module's `allowList` and `blockList`. */
export class AddressLists {
  private constructor(
    private readonly allows: Lookup | undefined,
    private readonly blocks: Lookup | undefined,
    private readonly observer: ListObserver,
    private readonly hasGone: HasGone,
  ) {}

  /**
   * Undefined where the module has neither list.
   *
   * @throws {RateLimitConfigError} for a range that is wrong
   */
  static of(
    { allowList, blockList }: Pick<RateLimitModuleOptions, ListOption>,
    functions: UserFunctions,
    observer: ListObserver,
    hasGone: HasGone,
  ): AddressLists | undefined {
    if (allowList === undefined && blockList === undefined) return undefined;
    const allows = lookupOf('allowList', allowList, functions);
    return new AddressLists(allows, lookupOf('blockList', blockList, functions), observer, hasGone);
  }

  /**
   * The list that a request's address is in. A request on a transport without addresses is in neither.
   *
   * @throws {ClientGoneError} when the client has closed the connection, so that there is no address: it may be a blocked one
   */
  of(context: ExecutionContext): Listed | Promise<Listed> {
    const found = addressOf(requestOf(context), 128);
    if (found === undefined) {
      if (this.hasGone(context)) throw ClientGoneError.instance;
      return 'neither';
    }
    const text = found.endsWith(ALL_BITS) ? found.slice(0, -ALL_BITS.length) : found;
    const allowed = this.allows?.(text, context) ?? false;
    return typeof allowed === 'boolean'
      ? this.after(allowed, text, context)
      : allowed.then((known) => this.after(known, text, context));
  }

  private after(allowed: boolean, text: string, context: ExecutionContext): Listed | Promise<Listed> {
    if (allowed) return this.counted('allow');
    const blocked = this.blocks?.(text, context) ?? false;
    if (typeof blocked === 'boolean') return blocked ? this.counted('block') : 'neither';
    return blocked.then((known) => (known ? this.counted('block') : 'neither'));
  }

  private counted(list: 'allow' | 'block'): Listed {
    this.observer.addressListed(list);
    return list;
  }
}

function lookupOf(
  option: ListOption,
  list: RateLimitModuleOptions[ListOption],
  functions: UserFunctions,
): Lookup | undefined {
  if (list === undefined) return undefined;
  if (typeof list !== 'function') {
    const ranges = new AddressList(list, `RateLimitModule, ${option}`);
    return (ip) => ranges.has(ip);
  }
  const isListed = async (ip: string, context: ExecutionContext): Promise<boolean> => {
    const answer: unknown = await list(ip, requestOf(context), context);
    if (typeof answer === 'boolean') return answer;
    throw new TypeError(`it must return true or false, got ${shown(answer)}`);
  };
  const warning = `${option} failed, the address counts as not in the list`;
  return (ip, context) =>
    functions.call(
      'list',
      warning,
      () => isListed(ip, context),
      () => false,
    );
}
