import type { UserFunctions } from '../functions/user-functions.js';
import type { IdentityChain } from '../identity/identity-chain.js';
import { kindOfTag } from '../identity/identity-tag.js';
import type { RateLimitRequest, RequestOf } from '../identity/request-function.js';
import { andThen } from '../util/answer.js';
import { shown } from '../util/config-error.js';
import { AddressList } from './address-list.js';

/** The list that an address is in: `'allow'` beats `'block'`. */
export type Listed = 'allow' | 'block' | 'neither';

/** Counts the requests whose address is in a list. */
export interface ListObserver {
  addressListed(list: 'allow' | 'block'): void;
}

/** Addresses and CIDR ranges, or a function that knows them. */
export type AddressListOption<Context> =
  | readonly string[]
  | {
      // A method, whose parameters are bivariant: see `RequestFunction`.
      ask(address: string, request: RateLimitRequest, context: Context): boolean | Promise<boolean>;
    }['ask'];

/** The lists of addresses that are never limited, and that are never served. An address in both is allowed. */
export interface AddressListOptions<Context> {
  /** Addresses that no policy counts. Default none. */
  readonly allowList?: AddressListOption<Context> | undefined;
  /** Addresses that get a 403, before anything is charged. Default none. */
  readonly blockList?: AddressListOption<Context> | undefined;
}

type Lookup<Context> = (ip: string, context: Context) => boolean | Promise<boolean>;

/** What the tag of an IPv6 address with all of its bits ends with. */
const ALL_BITS = '/128';

/** The options `allowList` and `blockList`. */
export class AddressLists<Context extends object> {
  private constructor(
    private readonly allows: Lookup<Context> | undefined,
    private readonly blocks: Lookup<Context> | undefined,
    private readonly observer: ListObserver,
    private readonly addresses: Pick<IdentityChain<Context>, 'addressTag'>,
  ) {}

  /**
   * Undefined where there is neither list.
   *
   * @param where what the options were given to
   * @throws {RateLimitConfigError} for a range that is wrong
   */
  static of<Context extends object>(
    { allowList, blockList }: AddressListOptions<Context>,
    where: string,
    requestOf: RequestOf<Context>,
    functions: UserFunctions,
    observer: ListObserver,
    addresses: Pick<IdentityChain<Context>, 'addressTag'>,
  ): AddressLists<Context> | undefined {
    if (allowList === undefined && blockList === undefined) return undefined;
    const lookup = (name: keyof AddressListOptions<Context>, list: typeof allowList): Lookup<Context> | undefined =>
      lookupOf(name, list, where, requestOf, functions);
    return new AddressLists(lookup('allowList', allowList), lookup('blockList', blockList), observer, addresses);
  }

  /**
   * The list that a request's address is in. A request on a transport without addresses is in neither.
   *
   * @throws {ClientGoneError} when the client has closed the connection, so that there is no address: it may be a blocked one
   */
  of(context: Context): Listed | Promise<Listed> {
    return andThen(this.addresses.addressTag(context), (tag) => this.listed(tag, context));
  }

  private listed(tag: string, context: Context): Listed | Promise<Listed> {
    const kind = kindOfTag(tag);
    if (kind !== 'ip') return 'neither';
    const text = tag
      .slice(kind.length + 1)
      .replaceAll('%3A', ':')
      .replace(ALL_BITS, '');
    return andThen(this.allows?.(text, context) ?? false, (allowed) => this.after(allowed, text, context));
  }

  private after(allowed: boolean, text: string, context: Context): Listed | Promise<Listed> {
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

function lookupOf<Context extends object>(
  option: keyof AddressListOptions<Context>,
  list: AddressListOption<Context> | undefined,
  where: string,
  requestOf: RequestOf<Context>,
  functions: UserFunctions,
): Lookup<Context> | undefined {
  if (list === undefined) return undefined;
  if (typeof list !== 'function') {
    const ranges = new AddressList(list, `${where}, ${option}`);
    return (ip) => ranges.has(ip);
  }
  const isListed = async (ip: string, context: Context): Promise<boolean> => {
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
