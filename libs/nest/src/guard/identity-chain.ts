import type { ExecutionContext } from '@nestjs/common';
import { RateLimitConfigError } from 'floodgate';
import { addressResolver, type IdentityCalls, type MissingIdentities } from 'floodgate/internal';
import { type Connections, IdentityChain, ipv6PrefixOf, routeName } from 'floodgate/internal-boot';
import { ContextView } from '../contexts/context-view.js';
import type { CheckedOptions } from '../options/check-options.js';
import { handlerNameOf } from '../handlers/route.js';
import { isHttp, requestOf } from '../contexts/http-context.js';

/** The identity chain of the module. Without resolvers it counts addresses only: clients can invent all other identities. */
export function identityChain(
  { identity = [], onMissingIdentity }: Pick<CheckedOptions, 'identity' | 'onMissingIdentity'>,
  calls: IdentityCalls,
  hasGone: HasGone,
  missing?: MissingIdentities<ExecutionContext>,
): IdentityChain<ExecutionContext> {
  const peer = {
    address: addressResolver({}),
    hasGone,
    place: (context: ExecutionContext) => routeName(context),
    unaddressed: (context: ExecutionContext) => (hasConnection(context) ? undefined : unaddressed(context)),
  };
  return new IdentityChain(
    identity,
    requestOf,
    onMissingIdentity,
    calls,
    peer,
    missing,
    ipv6PrefixOf(identity, 'RateLimitModule'),
  );
}

/** The chain that finds the addresses of `allowList` and `blockList`: those that `by: 'ip'` counts, with all of their bits. */
export function addressChain(
  { identity = [], onMissingIdentity }: Pick<CheckedOptions, 'identity' | 'onMissingIdentity'>,
  calls: IdentityCalls,
  hasGone: HasGone,
): IdentityChain<ExecutionContext> {
  const peer = { address: addressResolver({}), hasGone };
  return new IdentityChain(identity, requestOf, onMissingIdentity, calls, peer, undefined, 128);
}

/** Whether a request without an address lost it: its client closed the connection before it could be read. */
export type HasGone = (context: ExecutionContext) => boolean;

export function goneClients(connections: Connections): HasGone {
  return (context) => {
    if (isHttp(context)) return connections.isLost(requestOf(context));
    if (!(context instanceof ContextView)) return false;
    return (context.request.socket !== undefined && connections.isLost(context.request)) || context.client.gone;
  };
}

function hasConnection(context: ExecutionContext): boolean {
  return isHttp(context) || requestOf(context).socket !== undefined;
}

/** The error for a request without an address. With one shared state, a single sender could use up the limit of all. */
function unaddressed(context: ExecutionContext): RateLimitConfigError {
  return new RateLimitConfigError(
    handlerNameOf(context.getClass(), context.getHandler()),
    `a request of context '${context.getType()}' has no identity that its policy counts, and no address: let the policy count ` +
      `by: 'global', or by a function of the request and its context, or choose onMissingIdentity: 'reject'`,
    'FG_CONFIGURATION',
  );
}
