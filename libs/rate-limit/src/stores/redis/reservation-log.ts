import { randomUUID } from 'node:crypto';
import { shown } from '../../util/config-error.js';
import {
  type DueReservations,
  type LoggedReservation,
  readReservation,
  type ReservationClaim,
  type ReservationLog,
  reservationText,
} from '../reservation-log.js';
import { type ChargeSettlement, type Clock, RateLimitStoreError } from '../store.js';
import { RESERVATIONS } from './batch/programs.js';
import { type BesideConnection, CallsBeside } from './calls-beside.js';
import { isErrorReply, isUnsent } from './clients/client-failure.js';

/** The keys of the log, so that on a Cluster no node has all of it. The number must never change: processes look in all keys. */
const KEYS = 4;
/** Reservations that a process takes out of one key at a time: those of a process that dies then stay charged. */
const TAKEN = 64;
/** Reservations in one key at most: some 15 MB, where each has one policy. */
const MAX_ENTRIES = 50_000;
const MICROSECONDS = 1000;

/** How much is kept, and taken at a time. */
export interface ReservationBounds {
  /** Reservations in one of the 4 keys. */
  readonly entries: number;
  readonly taken: number;
}

/** Keeps open reservations in Redis, for all processes. The header of lua/reservations.lua describes the wire. */
export class RedisReservationLog implements ReservationLog {
  private readonly keys: readonly string[];
  private readonly keysBegin: string;
  private readonly calls: CallsBeside;

  /**
   * @param keyOf the key with this part; each has a slot of its own
   * @param clock the application's clock, and by how many microseconds clocks may be apart; undefined: Redis's clock
   */
  constructor(
    connection: BesideConnection,
    keyOf: (part: string) => string,
    private readonly clock?: { readonly read: Clock; readonly maxSkew: number },
    private readonly bounds: ReservationBounds = { entries: MAX_ENTRIES, taken: TAKEN },
    patienceMs?: number,
  ) {
    this.keys = Array.from({ length: KEYS }, (_, i) => keyOf(String(i)));
    const [first] = this.keys;
    this.keysBegin = first!.slice(0, first!.indexOf('{') + 1);
    this.calls = new CallsBeside(connection, RESERVATIONS, patienceMs);
  }

  add(settlements: readonly ChargeSettlement[], dueAt: number): LoggedReservation {
    const key = this.keys[Math.floor(Math.random() * KEYS)]!;
    const text = reservationText(randomUUID(), settlements);
    const lapses = Math.max(...settlements.map(({ receipt: { at, resetAt } }) => resetAt - at));
    const written = this.write(key, text, dueAt, Math.ceil(lapses / MICROSECONDS));
    written.catch(() => undefined); // the claim asks as well
    return { written, claim: () => this.claim(key, text, written) };
  }

  async takeDue(): Promise<DueReservations> {
    const { clock, bounds } = this;
    // No clock may be so far ahead that it takes a reservation early.
    const now = clock === undefined ? 'redis' : String(Math.max(0, clock.read() - clock.maxSkew));
    const answers = await Promise.allSettled(
      this.keys.map((key) => this.calls.run([key], ['take', now, String(bounds.taken)])),
    );
    const taken: (readonly ChargeSettlement[])[] = [];
    let [more, malformed, error]: [boolean, number, unknown] = [false, 0, undefined];
    for (const answer of answers) {
      if (answer.status === 'rejected') {
        error ??= answer.reason;
        continue;
      }
      const texts: readonly unknown[] = Array.isArray(answer.value) ? answer.value : [];
      more ||= texts.length >= bounds.taken;
      for (const text of texts) {
        const settlements = readReservation(String(text), this.keysBegin);
        if (settlements === undefined) malformed++;
        else taken.push(settlements);
      }
    }
    return { taken, more, malformed, ...(error !== undefined && { error }) };
  }

  private async write(key: string, text: string, dueAt: number, lapsesMs: number): Promise<void> {
    const { entries } = this.bounds;
    const reply = await this.calls.run([key], ['add', text, String(dueAt), String(lapsesMs), String(entries)]);
    if (reply === 1) return;
    const problem = reply === 0 ? `${entries} reservations are open in ${key}` : `${key} answered ${shown(reply)}`;
    throw new NotWrittenError(problem);
  }

  private async claim(key: string, text: string, written: Promise<void>): Promise<ReservationClaim> {
    // The answer to the call before it says what "not there" means.
    const failure = await written.then(
      () => undefined,
      (error: Error) => error,
    );
    if (failure !== undefined && wasNotWritten(failure)) return 'own';
    const removed = await this.calls.run([key], ['remove', text]);
    if (removed === 1) return 'own';
    return failure === undefined ? 'taken' : 'unknown';
  }
}

/** The log has no room. */
class NotWrittenError extends RateLimitStoreError {}

/** Whether the reservation is certain not to be in the log: nothing was sent, or Redis has refused it. */
function wasNotWritten(error: Error): boolean {
  return error instanceof NotWrittenError || isErrorReply(error) || isUnsent(error);
}
