import type { ExecutionContext } from '@nestjs/common';
import type { IdentityChain as GenericIdentityChain } from '../identity/identity-chain.js';
import type { IdentityResolver as GenericIdentityResolver } from '../identity/identity.js';

/**
 * Finds one kind of identity in a request.
 *
 * @example { kind: 'user', resolve: (context) => context.switchToHttp().getRequest().user?.id }
 */
export type IdentityResolver = GenericIdentityResolver<ExecutionContext>;

/** Finds the identity of a request that a policy's `by` names. */
export type IdentityChain = GenericIdentityChain<ExecutionContext>;
