import type { Charge } from '../../charge.js';
import type { Found } from '../../judge.js';
import type { Verdict } from '../../store.js';

/** A request that waits for its answer. */
export interface PendingRequest {
  readonly charges: readonly Charge[];
  /** @param found the levels before the request; undefined unless `keepsLevels` */
  readonly resolve: (verdict: Verdict, found: readonly Found[] | undefined) => void;
  readonly reject: (error: Error) => void;
  /** Whether `resolve` gets the levels that the charges found. Default false. */
  readonly keepsLevels?: boolean;
  /** Whether it must not wait for others to share its call: it has waited before. Default false. */
  readonly isUrgent?: boolean;
  /** The identical request that follows it. */
  next: PendingRequest | undefined;
}

/**
 * A request that the caller of the store makes.
 *
 * It is a class, as all that waits for an answer. V8 allocates the objects of a literal as old ones once many of them have survived
 * young collections, and each old one that is dead keeps its promise, and all behind it, until the next full collection. It depends
 * on chance at start-up whether V8 does. Where it did, a decision took almost twice the CPU.
 */
export class StoreRequest implements PendingRequest {
  next: PendingRequest | undefined = undefined;

  constructor(
    readonly charges: readonly Charge[],
    readonly resolve: PendingRequest['resolve'],
    readonly reject: PendingRequest['reject'],
  ) {}
}

/** Rejects a request and the identical ones that follow it. */
export function rejectAll(first: PendingRequest, error: Error): void {
  for (let pending: PendingRequest | undefined = first; pending !== undefined; pending = pending.next)
    pending.reject(error);
}
