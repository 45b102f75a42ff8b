import type { ExecutionContext } from '@nestjs/common';
import { shown } from 'floodgate/internal';
import { AddressList, andThen, type IdentityChain, kindOfTag, type UserFunctions } from 'floodgate/internal-boot';
import { requestOf } from '../contexts/http-context.js';
import type { RateLimitModuleOptions } from '../options/module-options.js';

/** The list that an address is in: `'allow'` beats `'block'`. */
export type Listed = 'allow' | 'block' | 'neither';

/** Counts the requests whose address is in a list. */
export interface ListObserver {
  addressListed(list: 'allow' | 'block'): void;
}

type ListOption = 'allowList' | 'blockList';
type Lookup = (ip: string, context: ExecutionContext) => boolean | Promise<boolean>;

/** What the tag of an IPv6 address with all of its bits ends with. */
const ALL_BITS = '/128';

/** The module's `allowList` and `blockList`. */
export class AddressLists {
  private constructor(
    private readonly allows: Lookup | undefined,
    private readonly blocks: Lookup | undefined,
    private readonly observer: ListObserver,
    private readonly addresses: Pick<IdentityChain<ExecutionContext>, 'addressTag'>,
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
    addresses: Pick<IdentityChain<ExecutionContext>, 'addressTag'>,
  ): AddressLists | undefined {
    if (allowList === undefined && blockList === undefined) return undefined;
    const allows = lookupOf('allowList', allowList, functions);
    return new AddressLists(allows, lookupOf('blockList', blockList, functions), observer, addresses);
  }

  /**
   * The list that a request's address is in. A request on a transport without addresses is in neither.
   *
   * @throws {ClientGoneError} when the client has closed the connection, so that there is no address: it may be a blocked one
   */
  of(context: ExecutionContext): Listed | Promise<Listed> {
    return andThen(this.addresses.addressTag(context), (tag) => this.listed(tag, context));
  }

  private listed(tag: string, context: ExecutionContext): Listed | Promise<Listed> {
    const kind = kindOfTag(tag);
    if (kind !== 'ip') return 'neither';
    const text = tag
      .slice(kind.length + 1)
      .replaceAll('%3A', ':')
      .replace(ALL_BITS, '');
    return andThen(this.allows?.(text, context) ?? false, (allowed) => this.after(allowed, text, context));
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
