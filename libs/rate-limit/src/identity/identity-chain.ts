import type { ExecutionContext } from '@nestjs/common';
import { globalTag } from '../policy/key.js';
import { isPromise } from '../is-promise.js';
import type { ParsedPolicy } from '../policy/parse-policy.js';
import { type IdentityResolver, UNKNOWN } from './identity.js';
import { identityTag } from './identity-tag.js';
import { defaultIdentities, ipIdentity } from './resolvers.js';

/** Finds who is asking, as a policy's `by` wants it. */
export class IdentityChain {
  private readonly client: readonly IdentityResolver[];
  private readonly byKind: Readonly<Record<'ip' | 'user' | 'api-key', readonly IdentityResolver[]>>;

  constructor(resolvers: readonly IdentityResolver[] = defaultIdentities()) {
    const of = (...kinds: string[]): readonly IdentityResolver[] =>
      resolvers.filter(({ kind }) => kinds.includes(kind));
    const ip = of('ip').length > 0 ? of('ip') : [ipIdentity()];
    // Who is nobody else is at least an address: all the others together would share one state.
    this.client = of('ip').length > 0 ? resolvers : [...resolvers, ...ip];
    // Where a request has no user or key, its address is counted: its kind keeps it apart from both.
    this.byKind = { ip, user: [...of('user'), ...ip], 'api-key': [...of('key', 'api-key'), ...ip] };
  }

  /** The tag of the policy's keys for this request; a promise only where a resolver or a `by` function is asynchronous. */
  tag(policy: ParsedPolicy, context: ExecutionContext): string | Promise<string> {
    const { by } = policy;
    if (by === 'global') return globalTag(policy.name);
    if (by === 'client') return this.find(this.client, 0, context);
    if (typeof by === 'string') return this.find(this.byKind[by], 0, context);
    const identity = by(context);
    return isPromise(identity) ? identity.then(identityTag) : identityTag(identity);
  }

  private find(
    resolvers: readonly IdentityResolver[],
    first: number,
    context: ExecutionContext,
  ): string | Promise<string> {
    for (let i = first; i < resolvers.length; i++) {
      const { kind } = resolvers[i]!;
      const found = resolvers[i]!.resolve(context);
      if (isPromise(found)) {
        return found.then((value) =>
          isSome(value) ? identityTag({ kind, value }) : this.find(resolvers, i + 1, context),
        );
      }
      if (isSome(found)) return identityTag({ kind, value: found });
    }
    return identityTag(UNKNOWN);
  }
}

function isSome(value: string | null | undefined): value is string {
  return value !== undefined && value !== null && value !== '';
}
