import type { IdentityChain as GenericIdentityChain } from '../identity/identity-chain.js';
import type { IdentityResolver as GenericIdentityResolver } from '../identity/identity.js';

/** Finds one kind of identity in a request. */
export type IdentityResolver = GenericIdentityResolver;

/** Finds the identity of a request that a policy counts. */
export type IdentityChain = GenericIdentityChain;
