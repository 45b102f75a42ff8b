import type { Charge } from '../../charge.js';
import type { Found } from '../../judge.js';
import type { ChargeSettlement, SettledCharge, Verdict } from '../../store.js';

/** What waits for its answer in a batch: a request, or a settlement. */
export type Pending = PendingRequest | PendingSettlement;

/** A request that waits for its answer. */
export interface PendingRequest {
  readonly charges: readonly Charge[];
  readonly settlements?: undefined;
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
  declare readonly settlements: undefined;
  next: PendingRequest | undefined = undefined;

  constructor(
    readonly charges: readonly Charge[],
    readonly resolve: PendingRequest['resolve'],
    readonly reject: PendingRequest['reject'],
  ) {}
}

/** Charges that are settled together, all or none: their keys share a slot. A settlement is sent once, and repeats no other. */
export class PendingSettlement {
  declare readonly isUrgent: undefined;
  declare readonly next: undefined;
  /** What names their states and policies to the program. */
  readonly charges: readonly Charge[];

  constructor(
    readonly settlements: readonly ChargeSettlement[],
    readonly resolve: (settled: readonly SettledCharge[]) => void,
    readonly reject: (error: Error) => void,
  ) {
    this.charges = settlements.map(({ receipt }) => new SettledKey(receipt.key, receipt.algorithm));
  }
}

/** A settled charge, as the program knows it. */
class SettledKey implements Charge {
  readonly cost = 1;
  readonly shadow = false;

  constructor(
    readonly key: string,
    readonly algorithm: Charge['algorithm'],
  ) {}
}

/** Rejects what waits in a row: identical requests follow the first one. */
export function rejectAll(first: Pending, error: Error): void {
  for (let pending: Pending | undefined = first; pending !== undefined; pending = pending.next) pending.reject(error);
}
