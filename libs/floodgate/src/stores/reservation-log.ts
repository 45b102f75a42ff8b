import { isWhole } from '../algorithms/core/algorithm.js';
import { algorithmOfRate } from '../algorithms/algorithms.js';
import type { ChargeReceipt, ChargeSettlement } from './receipt.js';

/** The answer to a process that claims a reservation. */
export type ReservationClaim =
  /** This process settles the reservation, and no other one does. */
  | 'own'
  /** Another process has settled the reservation, or will. */
  | 'taken'
  /** The log cannot tell whether it ever had the reservation. */
  | 'unknown';

/** A reservation in the log. */
export interface LoggedReservation {
  /** Resolves once the reservation is in the log. Rejects where it is not, or where that is unknown. */
  readonly written: Promise<void>;
  /**
   * Takes the reservation out of the log. Only the process that has taken it out may settle it. Waits for a log that does not answer,
   * and rejects where it refuses.
   */
  claim(): Promise<ReservationClaim>;
}

/** The reservations that a process has taken out of the log. */
export interface DueReservations {
  /** The settlements of each. */
  readonly taken: readonly (readonly ChargeSettlement[])[];
  /** Whether more may be due. */
  readonly more: boolean;
  /** The entries that no process can settle: another program wrote them. */
  readonly malformed: number;
  /** Why a part of the log did not answer. */
  readonly error?: unknown;
}

/**
 * Keeps the open reservations of all processes that expire, so that another process can settle those of a process that died.
 *
 * A reservation is settled by the process that has taken it out of the log, and by no other. If that process dies between the two, the
 * reservation stays charged.
 */
export interface ReservationLog {
  /**
   * Adds a reservation, without waiting for the answer.
   *
   * @param settlements what settles it, each for less than was reserved
   * @param dueAt the instant from which any process may settle it, by the store's clock in microseconds
   */
  add(settlements: readonly ChargeSettlement[], dueAt: number): LoggedReservation;
  /** Takes out what is due, for this process to settle. */
  takeDue(): Promise<DueReservations>;
}

/** The format of the text. A process drops entries of another one. */
const VERSION = 1;
const LONGEST_KEY = 200;
/** The most settlements of a reservation: a batch can name no more. */
const MAX_SETTLEMENTS = 63;
/** The numbers of a refund marker. */
const MARKER = 2;

/** Whether another process can settle the charge by what a log keeps of it. */
export function isLoggable({ algorithm: { name, limit, rate } }: Pick<ChargeReceipt, 'algorithm'>): boolean {
  return algorithmOfRate(name, limit, rate) !== undefined;
}

/** The text of a reservation in a log. @param id distinguishes it from all others */
export function reservationText(id: string, settlements: readonly ChargeSettlement[]): string {
  const parts = settlements.map(({ receipt, finalCost }) => {
    const { key, algorithm, at, resetAt, cost, refundMarker = [] } = receipt;
    return [key, algorithm.name, algorithm.limit, algorithm.rate, at, resetAt, cost, finalCost, ...refundMarker];
  });
  return JSON.stringify([VERSION, id, parts]);
}

/**
 * The settlements that the text of a reservation describes; undefined for a text that no process of this version has written. It only
 * ever refunds.
 *
 * @param keysBegin how the keys of states begin
 */
export function readReservation(text: string, keysBegin: string): readonly ChargeSettlement[] | undefined {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(read) || read.length !== 3 || read[0] !== VERSION) return undefined;
  const parts: unknown = read[2];
  if (!Array.isArray(parts) || parts.length === 0 || parts.length > MAX_SETTLEMENTS) return undefined;
  const settlements = parts.map((part) => (Array.isArray(part) ? settlementOf(part, keysBegin) : undefined));
  const keys = new Set(settlements.map((settlement) => settlement?.receipt.key));
  return keys.size === parts.length && !keys.has(undefined) ? (settlements as ChargeSettlement[]) : undefined;
}

function settlementOf(part: readonly unknown[], keysBegin: string): ChargeSettlement | undefined {
  const [key, name, limit, rate, ...numbers] = part;
  if (typeof key !== 'string' || key.length > LONGEST_KEY || !key.startsWith(keysBegin)) return undefined;
  if (!numbers.every((number) => isWhole(number, 0))) return undefined;
  const [at, resetAt, cost, finalCost, ...marker] = numbers as number[];
  const algorithm = algorithmOfRate(name, limit, rate);
  if (algorithm === undefined || finalCost === undefined || finalCost >= cost! || resetAt! < at!) return undefined;
  if (marker.length !== 0 && marker.length !== MARKER) return undefined;
  const refundMarker = marker.length === 0 ? undefined : marker;
  const receipt = { key, algorithm, at: at!, resetAt: resetAt!, cost: cost!, refundMarker };
  return { receipt, finalCost, overdraft: 0 };
}
