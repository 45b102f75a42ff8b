import type { Identity } from '../identity/identity.js';
import type { CallCost } from './cost-by-name.js';

/** The identity of a call; not needed if all policies are `by: 'global'`. */
export type MaybeNone = Identity | null | undefined;

/** The options of the methods of `RateLimiter` that look or charge: what a request would say by itself. */
export interface LookOptions {
  /**
   * The client's plan, for policies with `plans`; null for none. Default the last known plan of the identity, else the fallback of
   * the module's `plan`, whose `resolve` is called for requests only.
   */
  readonly plan?: string | null | undefined;
  /**
   * The client's time zone, for policies whose time zone is a function: those of a call need it. Default for a route: the zone in which
   * this process has counted the client last, else UTC.
   */
  readonly timeZone?: string | undefined;
  /** The class of the request, for policies with `priorities`. Default their own `priority`; needed where that is a function. */
  readonly priority?: string | undefined;
}

/** The options of the methods of `RateLimiter` that charge. */
export interface CallOptions extends LookOptions {
  /**
   * What to charge each policy: a whole number from 0, which charges nothing and asks whether cost 1 fits. Default the policy's own
   * `cost`, else 1. `acquire` takes as many leases: from 1.
   *
   * An object names the policies that it is for, by their names; the others have their default. The cost of a policy holds for its
   * `else`, unless that is named itself.
   *
   * @example cost: { tokens: 4_000 }
   */
  readonly cost?: CallCost | undefined;
}
