import type { ExecutionContext } from '@nestjs/common';
import type { Connections } from '../http/connections.js';
import { requestOf } from '../nest/http-context.js';
import { ClientGoneError, IdentityMissingError } from './errors.js';
import { isPromise } from '../util/is-promise.js';
import { RateLimitConfigError } from '../util/config-error.js';
import { globalTag } from '../policy/key.js';
import type { ParsedPolicy as GenericPolicy } from '../policy/parse-policy.js';

type ParsedPolicy = GenericPolicy<ExecutionContext>;
import type { MaybeIdentity } from '../policy/policy.js';
import { type RationedWarning, reasonOf } from '../util/rationed-warning.js';
import { type IdentityResolver, type OnMissingIdentity, UNKNOWN } from './identity.js';
import type { ResolvedIdentities } from './resolved-identities.js';
import { identityTag, isKind } from './identity-tag.js';
import { defaultIdentities, ipIdentity } from './resolvers.js';

type Tag = string | Promise<string>;

const LACKING = {
  user: { found: 'users', resolver: 'userIdentity' },
  'api-key': { found: 'API keys', resolver: 'apiKeyIdentity' },
} as const;

/** What becomes of requests of which none can have the identity that a policy counts. */
const OF_EVERYBODY: Readonly<Record<OnMissingIdentity, string>> = {
  ip: "counts addresses (onMissingIdentity is 'ip')",
  refuse: "answers every request with 401 (onMissingIdentity is 'refuse')",
  throw: "answers every request with 500 (onMissingIdentity is 'throw')",
};

/** Finds who is asking, as a policy's `by` wants it. */
export class IdentityChain {
  private readonly client: readonly IdentityResolver[];
  private readonly byKind: Readonly<Record<'ip' | 'user' | 'api-key', readonly IdentityResolver[]>>;
  /** The last resort, when resolvers of the module's own for the address fail. */
  private readonly ownAddress = ipIdentity();

  /**
   * @param onMissing what policies do that do not say themselves
   * @param failed told of every function that throws or rejects, whatever follows from it
   * @param connections tells a client that has gone from one that never has an address
   */
  constructor(
    resolvers: readonly IdentityResolver[] = defaultIdentities(),
    private readonly onMissing: OnMissingIdentity,
    private readonly failed: RationedWarning,
    private readonly connections: Pick<Connections, 'isLost'>,
  ) {
    const of = (...kinds: string[]): readonly IdentityResolver[] =>
      resolvers.filter(({ kind }) => kinds.includes(kind));
    const ip = of('ip').length > 0 ? of('ip') : [this.ownAddress];
    // Who is nobody else is at least an address: all the others together would share one state.
    this.client = of('ip').length > 0 ? resolvers : [...resolvers, ...ip];
    this.byKind = { ip, user: of('user'), 'api-key': of('key', 'api-key') };
  }

  /**
   * What an operator should know of a policy that counts users or API keys where no resolver finds any, or undefined. Boot
   * warns and does not fail: a guard's own `identityTag` may find them.
   */
  lackOf({ by, onMissingIdentity }: ParsedPolicy): string | undefined {
    if ((by !== 'user' && by !== 'api-key') || this.byKind[by].length > 0) return undefined;
    const { found, resolver } = LACKING[by];
    return (
      `counts by '${by}', but no resolver of the module's identity finds ${found}, so the policy ` +
      `${OF_EVERYBODY[onMissingIdentity ?? this.onMissing]}. Right is identity: [${resolver}(), ipIdentity()] where a gateway ` +
      `sets that header, or a resolver of your own: { kind: '${by}', resolve: (context) => ... }`
    );
  }

  /**
   * The tag of the policy's keys for this request; a promise only where a resolver or a `by` function is asynchronous.
   *
   * @throws {RateLimitIdentityMissingException} when the request has no such identity and `onMissingIdentity` is `'refuse'`
   * @throws {RateLimitConfigError} the same with `'throw'`
   * @throws {RateLimitUnavailableException} when the client has gone, and its address with it
   * @throws {TypeError} when what a function returned is no identity
   */
  tag(policy: ParsedPolicy, context: ExecutionContext, _resolved?: ResolvedIdentities): Tag {
    const { by } = policy;
    if (by === 'global') return globalTag(policy.name);
    if (by === 'client') return this.find(this.client, 0, context, policy);
    if (typeof by === 'string') return this.find(this.byKind[by], 0, context, policy);
    let identity: ReturnType<typeof by>;
    try {
      identity = by(context);
    } catch (error) {
      return this.missing(policy, context, { error });
    }
    if (!isPromise(identity)) return this.tagOf(identity, policy, context);
    return identity.then(
      (found) => this.tagOf(found, policy, context),
      (error: unknown) => this.missing(policy, context, { error }),
    );
  }

  private tagOf(identity: MaybeIdentity, policy: ParsedPolicy, context: ExecutionContext): Tag {
    // As in { kind: 'user', value: request.user?.id }: never the text 'undefined', and never one state for all of those.
    if (identity === undefined || identity === null) return this.missing(policy, context);
    const { kind, value } = identity;
    // Something else than an identity is a mistake of the function's, and no missing one.
    return isKind(kind) && isNone(value)
      ? this.missing(policy, context)
      : identityTag({ kind, value: value as string });
  }

  /** @param policy what to do when nothing is found; without one, the connection's address */
  private find(
    resolvers: readonly IdentityResolver[],
    first: number,
    context: ExecutionContext,
    policy: ParsedPolicy | undefined,
  ): Tag {
    for (let i = first; i < resolvers.length; i++) {
      const { kind } = resolvers[i]!;
      let found: ReturnType<IdentityResolver['resolve']>;
      try {
        found = resolvers[i]!.resolve(context);
      } catch (error) {
        return this.missing(policy, context, { error });
      }
      if (isPromise(found)) {
        return found.then(
          (value) => (isNone(value) ? this.find(resolvers, i + 1, context, policy) : identityTag({ kind, value })),
          (error: unknown) => this.missing(policy, context, { error }),
        );
      }
      if (!isNone(found)) return identityTag({ kind, value: found });
    }
    return this.missing(policy, context);
  }

  /** A request without whom the policy counts: the policy's choice. Nothing has been charged yet. */
  private missing(policy: ParsedPolicy | undefined, context: ExecutionContext, failure?: { error: unknown }): Tag {
    const reason = failure === undefined ? undefined : reasonOf(failure.error);
    if (reason !== undefined) this.failed.warn(`An identity function failed (${nameOf(policy)}): ${reason}`);
    if (policy === undefined) {
      const value = this.ownAddress.resolve(context) as string | undefined;
      if (value !== undefined) return identityTag({ kind: 'ip', value });
      // Nobody reads the answer. Were it served, whoever resets connections would have a second bucket.
      if (this.connections.isLost(requestOf(context))) throw new ClientGoneError();
      return identityTag(UNKNOWN);
    }
    const choice = policy.onMissingIdentity ?? this.onMissing;
    if (choice === 'refuse') throw new IdentityMissingError(policy.name);
    if (choice === 'throw') {
      const why = reason === undefined ? 'the request has none' : `the function failed: ${reason}`;
      throw new RateLimitConfigError(
        nameOf(policy),
        `no identity to count by ${wanted(policy)}, ${why}; onMissingIdentity is 'throw': let authentication run before ` +
          `the rate limit's guard, or choose 'ip' or 'refuse'`,
      );
    }
    return this.find(policy.by === 'ip' ? [] : this.byKind.ip, 0, context, undefined);
  }
}

function isNone(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

function nameOf(policy: ParsedPolicy | undefined): string {
  return policy === undefined ? 'the address' : `policy '${policy.name}'`;
}

function wanted({ by }: ParsedPolicy): string {
  return typeof by === 'string' ? `'${by}'` : 'a function';
}
