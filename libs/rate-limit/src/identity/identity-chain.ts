import type { ExecutionContext } from '@nestjs/common';
import { globalTag } from '../policy/key.js';
import type { ParsedPolicy } from '../policy/parse-policy.js';
import { type Identity, type IdentityResolver, UNKNOWN } from './identity.js';
import { identityTag } from './identity-tag.js';
import { defaultIdentities, ipIdentity } from './resolvers.js';

const KINDS = { ip: 'ip', user: 'user', 'api-key': 'key' } as const;

/** Finds who is asking, as a policy's `by` wants it. */
export class IdentityChain {
  private readonly client: readonly IdentityResolver[];
  private readonly byKind: Readonly<Record<keyof typeof KINDS, readonly IdentityResolver[]>>;

  constructor(resolvers: readonly IdentityResolver[] = defaultIdentities()) {
    const of = (kind: string): readonly IdentityResolver[] => resolvers.filter((resolver) => resolver.kind === kind);
    const ip = of('ip').length > 0 ? of('ip') : [ipIdentity()];
    this.client = resolvers;
    // Where a request has no user or key, its address is counted: its kind keeps it apart from both.
    this.byKind = { ip, user: [...of(KINDS.user), ...ip], 'api-key': [...of(KINDS['api-key']), ...ip] };
  }

  /** The tag of the policy's keys for this request. */
  async tag(policy: ParsedPolicy, context: ExecutionContext): Promise<string> {
    const { by } = policy;
    if (by === 'global') return globalTag(policy.name);
    if (typeof by === 'function') return identityTag(await by(context));
    return identityTag(await this.find(by === 'client' ? this.client : this.byKind[by], context));
  }

  private async find(resolvers: readonly IdentityResolver[], context: ExecutionContext): Promise<Identity> {
    for (const resolver of resolvers) {
      const found = resolver.resolve(context);
      const value = typeof found === 'object' ? await found : found;
      if (value !== undefined && value !== null && value !== '') return { kind: resolver.kind, value };
    }
    return UNKNOWN;
  }
}
