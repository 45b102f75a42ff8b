import { RateLimitConfigError } from '../util/config-error.js';
import { isPromise } from '../util/is-promise.js';
import { reasonOf } from '../util/thrown.js';
import { DEFAULT_IPV6_PREFIX } from './address.js';
import { ClientGoneError, IdentityMissingError } from './errors.js';
import {
  type CountedBy,
  type Identity,
  type IdentityFunction,
  type IdentityResolver,
  type MaybeIdentity,
  type OnMissingIdentity,
  type SyncIdentityResolver,
  UNKNOWN,
} from './identity.js';
import { isAddress, lacksValue, resolvedTag, returnedTag } from './found-tag.js';
import { globalTag, identityTag, tagFor } from './identity-tag.js';
import type { RequestOf } from './request-function.js';
import { type FoundIdentity, IdentityFailure, type IdentitySource, ResolvedIdentities } from './resolved-identities.js';

type Tag = string | Promise<string>;

/** Guards the calls of the application's functions: `UserFunctions` is one. */
export interface IdentityCalls {
  /** The answer of a source for a request, or a rejection when it does not come in time. */
  within<T>(answer: PromiseLike<T>, source: IdentitySource, context: object): Promise<T>;
  /** Counts a failure and warns of it. */
  failed(kind: 'identity', warning: string, error: unknown): void;
}

/** The connection that a request came over. */
export interface Peer<Context> {
  /** Finds the address of the connection, or of the client that a trusted proxy names. */
  readonly address: SyncIdentityResolver;
  /** Whether a request without an address lost it: its client closed the connection. */
  hasGone(context: Context): boolean;
  /** The handler of a request, as messages begin. */
  place?(context: Context): string;
  /** The error for a request that came over something without addresses; undefined where such requests share one state. */
  unaddressed?(context: Context): Error | undefined;
}

/** Is told of requests that count by their address, because they lack the identity that a policy asks for. */
export interface MissingIdentities<Context> {
  addressed(policy: CountedBy<Context>, context: Context): void;
  /** The policy's `by` function returned a kind without a value. */
  valueless(policy: CountedBy<Context>, context: Context, kind: string): void;
}

const LACKING = {
  user: { found: 'users', resolver: 'userIdentity' },
  'api-key': { found: 'API keys', resolver: 'apiKeyIdentity' },
} as const;

/** What a policy does with all its requests when no resolver finds the identities that it counts. */
const WITHOUT_RESOLVER: Readonly<Record<OnMissingIdentity, string>> = {
  ip: "counts addresses (onMissingIdentity is 'ip')",
  reject: "answers every request with 401 (onMissingIdentity is 'reject')",
  throw: "answers every request with 500 (onMissingIdentity is 'throw')",
};

/** Finds the identity of a request that a policy's `by` names. */
export class IdentityChain<Context extends object> {
  private readonly client: readonly IdentityResolver<Context>[];
  private readonly byKind: Readonly<Record<'ip' | 'user' | 'api-key', readonly IdentityResolver<Context>[]>>;
  /** The sources that `by: 'client'` prefers to an address. */
  private readonly beforeAddress: readonly IdentityResolver<Context>[];
  /** Whether a request that `by: 'client'` counts by its address is looked at: its identity may come later. */
  private readonly notesAddresses: boolean;

  /**
   * @param resolvers the module's, in the order in which `by: 'client'` asks them
   * @param requestOf finds the request, the first argument of the application's functions
   * @param onMissing the choice of policies that make none
   * @param peer the last resort when the module's resolvers find no address or fail
   * @param missing is notified of requests without the identity that a policy asks for; default none
   * @param ipv6Prefix bits of an IPv6 address that count, whoever finds it; default 56
   */
  constructor(
    resolvers: readonly IdentityResolver<Context>[],
    private readonly requestOf: RequestOf<Context>,
    private readonly onMissing: OnMissingIdentity,
    private readonly calls: IdentityCalls,
    private readonly peer: Peer<Context>,
    private readonly missing?: MissingIdentities<Context>,
    private readonly ipv6Prefix: number = DEFAULT_IPV6_PREFIX,
  ) {
    const of = (one: string): readonly IdentityResolver<Context>[] => resolvers.filter(({ kind }) => kind === one);
    const ip = of('ip').length > 0 ? of('ip') : [peer.address];
    // The chain always ends with an address. Without it, all unidentified requests would share one state.
    this.client = of('ip').length > 0 ? resolvers : [...resolvers, ...ip];
    this.byKind = { ip, user: of('user'), 'api-key': of('api-key') };
    this.beforeAddress = this.client.slice(
      0,
      this.client.findIndex(({ kind }) => kind === 'ip'),
    );
    this.notesAddresses = missing !== undefined && this.beforeAddress.length > 0;
  }

  /**
   * A warning for a policy that counts users or API keys where no resolver finds any, or undefined. It is no error: an
   * overridden `identityTag` of the guard may find them.
   */
  lackOf({ by, onMissingIdentity }: CountedBy<never>): string | undefined {
    if ((by !== 'user' && by !== 'api-key') || this.byKind[by].length > 0) return undefined;
    const { found, resolver } = LACKING[by];
    return (
      `counts by '${by}', but no resolver of the option identity finds ${found}, so the policy ` +
      `${WITHOUT_RESOLVER[onMissingIdentity ?? this.onMissing]}. Right is identity: [${resolver}(), ipIdentity()] where a gateway ` +
      `sets that header, or a resolver of your own: { kind: '${by}', resolve: (request) => ... }`
    );
  }

  /** Whether a policy counts nothing but addresses, judged by the kinds of the module's resolvers. */
  countsAddresses({ by }: Pick<CountedBy<never>, 'by'>): boolean {
    return by === 'ip' || (by === 'client' && this.client.every(({ kind }) => kind === 'ip'));
  }

  /**
   * The identity tag of the policy's keys for this request; a promise only where a resolver or a `by` function is asynchronous.
   *
   * @param resolved what other policies of the request found; undefined where there is one policy
   * @throws {IdentityMissingError} when the request has no such identity and `onMissingIdentity` is `'reject'`
   * @throws {RateLimitConfigError} when the request has no such identity and `onMissingIdentity` is `'throw'`
   * @throws {RateLimitConfigError} when an address would count, and the request came over something without addresses
   * @throws {ClientGoneError} when the client has closed the connection, so that there is no address
   * @throws {RateLimitConfigError} when a function returned a value that is no identity
   */
  tag(policy: CountedBy<Context>, context: Context, resolved?: ResolvedIdentities): Tag {
    const { by } = policy;
    if (by === 'global') return globalTag(policy.name);
    if (by === 'client') {
      const tag = this.find(this.client, 0, context, policy, resolved);
      if (!this.notesAddresses) return tag;
      if (typeof tag === 'string') return this.noteAddress(tag, policy, context);
      return tag.then((found) => this.noteAddress(found, policy, context));
    }
    if (typeof by === 'string') return this.find(this.byKind[by], 0, context, policy, resolved);
    const found = this.askFunction(by, context, policy, resolved);
    if (!isPromise(found)) return this.tagOf(found, context, policy, resolved);
    return found.then((later) => this.tagOf(later, context, policy, resolved));
  }

  /** The tag of the address that `by: 'ip'` counts. Throws as `tag` does. */
  addressTag(context: Context): Tag {
    return this.find(this.byKind.ip, 0, context, undefined, undefined);
  }

  /** The most functions that are asked for one tag, one after the other. */
  get functionCount(): number {
    return this.client.length + 1;
  }

  /** The tag of a request of which nothing is found: by the policy's `onMissingIdentity`. Throws as `tag` does. */
  withoutIdentity(policy: CountedBy<Context>, context: Context, resolved?: ResolvedIdentities): Tag {
    return this.lacking(context, policy, resolved, undefined);
  }

  /** The resolvers that a policy asks before it counts an address, or its `by` function. */
  sourcesOf({
    by,
  }: Pick<CountedBy<Context>, 'by'>): readonly (IdentityResolver<Context> | IdentityFunction<Context>)[] {
    if (typeof by === 'function') return [by];
    if (by === 'client') return this.beforeAddress;
    return by === 'user' || by === 'api-key' ? this.byKind[by] : [];
  }

  /**
   * Whether a request has an identity by now that a policy asks for. It is asked anew, without a deadline, and a failure counts as
   * none. Never rejects.
   */
  async hasIdentity(policy: CountedBy<Context>, context: Context): Promise<boolean> {
    for (const source of this.sourcesOf(policy)) {
      try {
        const found =
          typeof source === 'function'
            ? returnedTag(source, await source(this.requestOf(context), context), this.ipv6Prefix)
            : resolvedTag(source, await source.resolve(this.requestOf(context), context), this.ipv6Prefix);
        if (typeof found === 'string' && !isAddress(found)) return true;
      } catch {
        // The failure was counted when the request itself called the function.
      }
    }
    return false;
  }

  private noteAddress(tag: string, policy: CountedBy<Context>, context: Context): string {
    if (isAddress(tag)) this.missing?.addressed(policy, context);
    return tag;
  }

  /** @param policy undefined where the address replaces a missing identity */
  private find(
    resolvers: readonly IdentityResolver<Context>[],
    first: number,
    context: Context,
    policy: CountedBy<Context> | undefined,
    resolved: ResolvedIdentities | undefined,
  ): Tag {
    for (let i = first; i < resolvers.length; i++) {
      const found = this.askResolver(resolvers[i]!, context, policy, resolved);
      if (isPromise(found)) {
        return found.then((later) =>
          later === undefined
            ? this.find(resolvers, i + 1, context, policy, resolved)
            : this.tagOf(later, context, policy, resolved),
        );
      }
      if (typeof found === 'string') return found;
      if (found !== undefined) return this.tagOf(found, context, policy, resolved);
    }
    return this.lacking(context, policy, resolved, undefined);
  }

  private tagOf(
    found: FoundIdentity,
    context: Context,
    policy: CountedBy<Context> | undefined,
    resolved: ResolvedIdentities | undefined,
  ): Tag {
    if (typeof found === 'string') return found;
    if (found?.invalid === true) throw this.invalid(found, context, policy);
    return this.lacking(context, policy, resolved, found);
  }

  /** The error for what is no identity, with the place, the policy and what was given. */
  private invalid(found: IdentityFailure, context: Context, policy: CountedBy<Context> | undefined): unknown {
    const place = this.peer.place?.(context);
    const source = typeof found.source === 'function' ? 'by' : `the resolver of ${found.source.kind}`;
    try {
      tagFor(
        found.given as Identity,
        `${place === undefined ? '' : `${place}, `}${nameOf(policy)}, ${source}`,
        this.ipv6Prefix,
      );
    } catch (error) {
      return error;
    }
    return found.error;
  }

  private askResolver(
    resolver: IdentityResolver<Context>,
    context: Context,
    policy: CountedBy<Context> | undefined,
    resolved: ResolvedIdentities | undefined,
  ): FoundIdentity | Promise<FoundIdentity> {
    if (resolved?.has(resolver) === true) return resolved.get(resolver);
    let found: FoundIdentity | Promise<FoundIdentity>;
    try {
      const value = resolver.resolve(this.requestOf(context), context);
      found = isPromise(value)
        ? this.calls.within(value, resolver, context).then(
            (later) => resolvedTag(resolver, later, this.ipv6Prefix),
            (error: unknown) => this.failure(resolver, error, policy),
          )
        : resolvedTag(resolver, value, this.ipv6Prefix);
    } catch (error) {
      found = this.failure(resolver, error, policy);
    }
    resolved?.set(resolver, found);
    return found;
  }

  private askFunction(
    by: IdentityFunction<Context>,
    context: Context,
    policy: CountedBy<Context>,
    resolved: ResolvedIdentities | undefined,
  ): FoundIdentity | Promise<FoundIdentity> {
    if (resolved?.has(by) === true) return resolved.get(by);
    let found: FoundIdentity | Promise<FoundIdentity>;
    try {
      const identity = by(this.requestOf(context), context);
      found = isPromise(identity)
        ? this.calls.within(identity, by, context).then(
            (later) => this.returned(by, later, context, policy),
            (error: unknown) => this.failure(by, error, policy),
          )
        : this.returned(by, identity, context, policy);
    } catch (error) {
      found = this.failure(by, error, policy);
    }
    resolved?.set(by, found);
    return found;
  }

  private returned(
    by: IdentityFunction<Context>,
    identity: MaybeIdentity,
    context: Context,
    policy: CountedBy<Context>,
  ): FoundIdentity {
    const tag = returnedTag(by, identity, this.ipv6Prefix);
    if (tag === undefined && lacksValue(identity)) this.missing?.valueless(policy, context, identity.kind);
    return tag;
  }

  /** Counts and logs one failed call, whichever of the request's policies asked first. */
  private failure(source: IdentitySource, error: unknown, policy: CountedBy<Context> | undefined): IdentityFailure {
    this.calls.failed('identity', `An identity function failed (${nameOf(policy)})`, error);
    return new IdentityFailure(source, error, false);
  }

  /** Follows the policy's `onMissingIdentity`. Nothing has been charged yet. */
  private lacking(
    context: Context,
    policy: CountedBy<Context> | undefined,
    resolved: ResolvedIdentities | undefined,
    failure: IdentityFailure | undefined,
  ): Tag {
    if (policy === undefined) return this.peerTag(context, resolved);
    const choice = policy.onMissingIdentity ?? this.onMissing;
    if (choice === 'reject') throw new IdentityMissingError(policy.name);
    if (choice === 'throw') {
      const why = failure === undefined ? 'the request has none' : `the function failed: ${reasonOf(failure.error)}`;
      throw new RateLimitConfigError(
        nameOf(policy),
        `no identity to count by ${wanted(policy)}, ${why}; onMissingIdentity is 'throw': let authentication run before ` +
          `the rate limit, or choose 'ip' or 'reject'`,
        'FG_IDENTITY_REQUIRED',
      );
    }
    if (policy.by !== 'ip' && policy.by !== 'client') this.missing?.addressed(policy, context);
    const known = resolved ?? rememberOnly(failure);
    return policy.by === 'ip' ? this.peerTag(context, known) : this.find(this.byKind.ip, 0, context, undefined, known);
  }

  private peerTag(context: Context, resolved: ResolvedIdentities | undefined): string {
    // This resolver answers at once.
    const found = this.askResolver(this.peer.address, context, undefined, resolved) as FoundIdentity;
    if (typeof found === 'string') return found;
    if (found !== undefined) throw found.error;
    // The answer of a request whose client has gone is never read. If it counted as unknown, clients that reset their
    // connections would have a second bucket.
    if (this.peer.hasGone(context)) throw ClientGoneError.instance;
    const problem = this.peer.unaddressed?.(context);
    if (problem !== undefined) throw problem;
    return identityTag(UNKNOWN);
  }
}

/** Keeps a failed resolver for addresses from being asked again: the request would wait for its deadline twice. */
function rememberOnly(failure: IdentityFailure | undefined): ResolvedIdentities | undefined {
  if (failure === undefined) return undefined;
  const resolved = new ResolvedIdentities();
  resolved.set(failure.source, failure);
  return resolved;
}

function nameOf<Context>(policy: CountedBy<Context> | undefined): string {
  return policy === undefined ? 'the address' : `policy '${policy.name}'`;
}

function wanted<Context>({ by }: CountedBy<Context>): string {
  return typeof by === 'string' ? `'${by}'` : 'a function';
}
