import type { Charge } from '../../charge.js';
import type { Found } from '../../judge.js';
import type { ChargeSettlement, SettledCharge, Verdict } from '../../store.js';

/** What waits for its answer in a batch: a request, or a settlement. */
export type Pending = PendingRequest | PendingSettlement;

/** A request that waits for its answer. */
export interface PendingRequest {
  readonly charges: readonly Charge[];
  readonly settlements?: undefined;
  readonly notRun?: undefined;
  /** @param found the levels before the request; undefined unless `keepsLevels` */
  resolve: (verdict: Verdict, found: readonly Found[] | undefined) => void;
  reject: (error: Error) => void;
  /** Whether `resolve` gets the levels that the charges found. Default false. */
  readonly keepsLevels?: boolean;
  /** Whether its answer counts however late it comes: the deadline does not fail it. Default false. */
  readonly isPatient?: boolean;
  /** The identical request that follows it. */
  next: PendingRequest | undefined;
}

/**
 * A request that the caller of the store makes.
 *
 * It is a class, like everything that waits for an answer. V8 may allocate the objects of a literal in the old space, once many
 * of them have survived young collections. A dead object there keeps its promise, and everything that the promise refers to,
 * until the next full collection: a decision then took almost twice the CPU. Whether V8 does so depends on chance at start-up.
 */
export class StoreRequest implements PendingRequest {
  declare readonly settlements: undefined;
  declare readonly notRun: undefined;
  next: PendingRequest | undefined = undefined;

  constructor(
    readonly charges: readonly Charge[],
    readonly isPatient: boolean,
    public resolve: PendingRequest['resolve'],
    public reject: PendingRequest['reject'],
  ) {}
}

/**
 * Charges that are settled together, all or none: their keys share a slot. A settlement never shares a row.
 */
export class PendingSettlement {
  declare readonly next: undefined;
  /** What an answer means that comes after the deadline has rejected it. Default nothing. */
  late: (settled: readonly SettledCharge[]) => void = nothing;
  /** The charges that tell the program their keys and policies. */
  readonly charges: readonly Charge[];

  /**
   * @param notRun called where Redis has certainly not run it, also after the deadline has rejected it
   * @param isPatient whether its answer counts however late it comes; default false
   */
  constructor(
    readonly settlements: readonly ChargeSettlement[],
    public resolve: (settled: readonly SettledCharge[]) => void,
    public reject: (error: Error) => void,
    readonly notRun: () => void,
    readonly isPatient = false,
  ) {
    this.charges = settlements.map(({ receipt }) => new SettledKey(receipt.key, receipt.algorithm));
  }
}

const nothing = (): void => undefined;

/** A settled charge, as the program knows it. */
class SettledKey implements Charge {
  readonly cost = 1;
  readonly shadow = false;
  readonly alternative = false;

  constructor(
    readonly key: string,
    readonly algorithm: Charge['algorithm'],
  ) {}
}

/**
 * Rejects what waits in a row: identical requests follow the first one.
 *
 * @param isNotRun whether Redis has certainly run nothing of it
 */
export function rejectAll(first: Pending, error: Error, isNotRun: boolean): void {
  for (let pending: Pending | undefined = first; pending !== undefined; pending = pending.next) {
    pending.reject(error);
    if (isNotRun) pending.notRun?.();
  }
}

/**
 * Rejects what waits in a row, but for patient requests, and releases who made it: the row may wait for its reply for as long as the
 * client does.
 */
export function expireAll(first: Pending, error: Error): void {
  for (let pending: Pending | undefined = first; pending !== undefined; pending = pending.next) {
    if (pending.isPatient === true) continue;
    pending.reject(error);
    pending.resolve = pending.settlements === undefined ? nothing : pending.late;
    pending.reject = nothing;
  }
}
