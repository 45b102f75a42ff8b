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
import { withinLoopTime } from '../loop-timer.js';
import { type ChargeSettlement, type Clock, RateLimitStoreError } from '../store.js';
import { RESERVATIONS } from './batch/programs.js';
import { type LogConnection, LogCalls } from './log-calls.js';
import { isErrorReply, isNotRun, isUnsent } from './clients/client-failure.js';
import { processTimer, type Timer } from '../timer.js';

/** The keys of the log, so that on a Cluster no node has all of it. The number must never change: processes look in all keys. */
const KEYS = 4;
/** Reservations that a process claims in one key at a time: those of a process that dies then stay charged. */
const TAKEN = 64;
/** Reservations in one key at most: some 15 MB, where each has one policy. */
const MAX_ENTRIES = 50_000;
/** Milliseconds for which Redis keeps the claimant of a reservation: a process asks again after a lost answer. */
const CLAIM_MS = 30_000;
/** Milliseconds until a claim is asked again; doubled each time. */
const AGAIN_MS = 100;
const MAX_AGAIN_MS = 1_600;
/** Milliseconds that claims of what is due may take. */
const SWEEP_PATIENCE_MS = 2000;
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
  private readonly calls: LogCalls;
  /** What this process has claimed of what is due, and not given yet. */
  private readonly claimed: string[] = [];
  /** The keys in which it claims what is due. */
  private readonly asking = new Set<string>();

  /**
   * @param keyOf the key with this part; each has a slot of its own
   * @param clock the application's clock, and by how many microseconds clocks may be apart; undefined: Redis's clock
   */
  constructor(
    private readonly connection: LogConnection,
    keyOf: (part: string) => string,
    private readonly clock?: { readonly read: Clock; readonly maxSkew: number },
    private readonly bounds: ReservationBounds = { entries: MAX_ENTRIES, taken: TAKEN },
    patienceMs?: number,
    private readonly timer: Timer = processTimer,
  ) {
    this.keys = Array.from({ length: KEYS }, (_, i) => keyOf(String(i)));
    const [first] = this.keys;
    this.keysBegin = first!.slice(0, first!.indexOf('{') + 1);
    this.calls = new LogCalls(connection, RESERVATIONS, patienceMs);
  }

  add(settlements: readonly ChargeSettlement[], dueAt: number): LoggedReservation {
    const key = this.keys[Math.floor(Math.random() * KEYS)]!;
    const text = reservationText(randomUUID(), settlements);
    const lapses = Math.max(...settlements.map(({ receipt: { at, resetAt } }) => resetAt - at));
    const written = this.write(key, text, dueAt, Math.ceil(lapses / MICROSECONDS));
    written.catch(() => undefined); // the claim asks as well
    return { written, claim: () => this.claim(key, text, dueAt, written) };
  }

  async takeDue(): Promise<DueReservations> {
    const { clock, bounds } = this;
    // No clock may be so far ahead that it takes a reservation early.
    const now = clock === undefined ? 'redis' : String(Math.max(0, clock.read() - clock.maxSkew));
    const taken: (readonly ChargeSettlement[])[] = [];
    let [more, malformed]: [boolean, number] = [false, 0];
    const takes = this.keys.map(async (key) => {
      // What is due may be what an earlier sweep still asks for.
      if (this.asking.has(key)) return;
      const due = await this.calls.run([key], ['due', now, String(bounds.taken)]);
      if (!Array.isArray(due) || due.length === 0) return;
      more ||= due.length >= bounds.taken;
      const texts = due.map(String);
      this.asking.add(key);
      const claimed = this.ask(key, texts)
        .then(({ claims }) => void this.claimed.push(...texts.filter((_, i) => claims[i] === 1)))
        .finally(() => this.asking.delete(key));
      // The others are not to wait for a node that does not answer: what it answers later is given with the next ones.
      await withinLoopTime(SWEEP_PATIENCE_MS, claimed);
    });
    const failed = (await Promise.allSettled(takes)).find((answer) => answer.status === 'rejected');
    for (const text of this.claimed.splice(0)) {
      const settlements = readReservation(text, this.keysBegin);
      if (settlements === undefined) malformed++;
      else taken.push(settlements);
    }
    return { taken, more, malformed, ...(failed !== undefined && { error: failed.reason }) };
  }

  private async write(key: string, text: string, dueAt: number, lapsesMs: number): Promise<void> {
    const { entries } = this.bounds;
    const reply = await this.calls.run([key], ['add', text, String(dueAt), String(lapsesMs), String(entries)]);
    if (reply === 1) return;
    const problem = reply === 0 ? `${entries} reservations are open in ${key}` : `${key} answered ${shown(reply)}`;
    throw new NotWrittenError(problem);
  }

  private async claim(key: string, text: string, dueAt: number, written: Promise<void>): Promise<ReservationClaim> {
    // The answer to the call before it says what "not there" means.
    const failure = await written.then(
      () => undefined,
      (error: Error) => error,
    );
    if (failure !== undefined && wasNotWritten(failure)) return 'own';
    const since = performance.now();
    const { claims, isFirst } = await this.ask(key, [text], dueAt);
    if (claims[0] === 1) return 'own';
    // The log never had the entry, or an earlier question has claimed it: no other process may claim it before it is due.
    if (claims[0] === 2 && (failure !== undefined || !isFirst)) return 'own';
    // Redis has forgotten by then what an earlier question may have claimed.
    return failure === undefined && performance.now() - since < CLAIM_MS ? 'taken' : 'unknown';
  }

  /** Claims reservations. Asks again while Redis does not answer: it says the same to the same claim. */
  private async ask(key: string, texts: readonly string[], dueAt = 0): Promise<Claimed> {
    const name = randomUUID();
    for (let wait = AGAIN_MS; ; wait = Math.min(MAX_AGAIN_MS, 2 * wait)) {
      const now = this.clock === undefined ? 'redis' : String(this.clock.read());
      try {
        const reply = await this.calls.run([key], ['claim', now, name, String(CLAIM_MS), String(dueAt), ...texts]);
        return { claims: Array.isArray(reply) ? reply : [], isFirst: wait === AGAIN_MS };
      } catch (error) {
        const isRefused = isErrorReply(error as Error) && !isNotRun(error as Error);
        if (isRefused || this.connection.isClosed === true) throw error;
      }
      await new Promise<void>((resolve) => this.timer(wait, resolve, true));
    }
  }
}

/** The answer to a claim: 1 for what it has, 2 for what is not there before it is due, 0 for what another has. */
interface Claimed {
  readonly claims: readonly unknown[];
  /** Whether no earlier question may have claimed anything. */
  readonly isFirst: boolean;
}

/** The log has no room. */
class NotWrittenError extends RateLimitStoreError {}

/** Whether the reservation is certain not to be in the log: nothing was sent, or Redis has refused it. */
function wasNotWritten(error: Error): boolean {
  return error instanceof NotWrittenError || isErrorReply(error) || isUnsent(error);
}
