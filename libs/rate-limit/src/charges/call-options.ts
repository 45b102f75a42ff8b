import type { Identity } from '../identity/identity.js';

/** The identity of a call; not needed if all policies are `by: 'global'`. */
export type MaybeNone = Identity | null | undefined;

/** The options of a call. */
export interface CallOptions {
  readonly cost?: number | undefined;
  readonly plan?: string | null | undefined;
  readonly timeZone?: string | undefined;
  readonly priority?: string | undefined;
}
