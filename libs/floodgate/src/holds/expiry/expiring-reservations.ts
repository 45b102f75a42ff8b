import type { BoundPolicy } from '../../policy/bound-policy.js';
import { type Expiry, type ExpiryOptions, readExpiry } from '../../policy/expiry.js';
import { reserves } from '../../stores/charge.js';
import { isLoggable, type LoggedReservation, type ReservationLog } from '../../stores/reservation-log.js';
import type { ChargeSettlement, SettledCharge } from '../../stores/receipt.js';
import type { StoreTraits } from '../../stores/traits.js';
import type { Timer } from '../../stores/timer.js';
import { type Answer, andThen } from '../../util/answer.js';
import { withHelp } from '../../util/error-codes.js';
import type { ReservationStats } from '../../watch/stats.js';
import type { Logger } from '../../util/logger.js';
import { RationedWarning } from '../../util/rationed-warning.js';
import { reasonOf } from '../../util/thrown.js';
import { ReservationsFullError } from '../../charges/errors.js';
import type { Judgement, Receipt } from '../../charges/judgement.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { Reservation } from '../settlements/reservation.js';
import { ReservedCharges } from '../settlements/reserved-charges.js';
import type { Settling } from '../settlements/settling.js';
import { DueQueue } from './due-queue.js';
import { ExpiringCharges, type Within } from './expiring-charges.js';
import { checkExpiryCost } from './expiry.js';
import { ReservationSweep } from './reservation-sweep.js';

const MICROSECONDS = 1000;

/** The policies of an application's routes. */
interface LimitedRoutes {
  policyNames(): Iterable<string>;
  boundTo(name: string): Iterable<BoundPolicy>;
}

/** What reservations that expire need. */
export interface ExpirySettings {
  readonly decide: (charges: readonly PolicyCharge[]) => Answer<Judgement>;
  /** Settles in the store. */
  readonly settle: (settlements: readonly ChargeSettlement[]) => Answer<readonly (SettledCharge | undefined)[]>;
  /** Keeps the deadline of settlements. */
  readonly within: Within;
  readonly traits: Pick<StoreTraits, 'isLocal'>;
  /** Undefined: the store has no place for it. */
  readonly log: ReservationLog | undefined;
  /** The store's own timer, and milliseconds of its clock, if the store has a clock of its own. */
  readonly timer?: Timer | undefined;
  readonly nowMs?: (() => number) | undefined;
  /** Milliseconds between two sweeps. */
  readonly sweepMs?: number | undefined;
  /** The most open reservations that this process settles at their expiry. */
  readonly mostOpen?: number | undefined;
}

/** Makes reservations that expire, and settles those that have expired: this process's own, and those of processes that died. */
export class ExpiringReservations implements Settling {
  readonly options = ['expires', 'atExpiry'];
  readonly queue: DueQueue;
  private readonly sweep: ReservationSweep | undefined;
  private readonly warning: RationedWarning;
  /** Claims whose charges are not settled yet. */
  private readonly underWay = new Set<unknown>();
  private hasWarnedLocal = false;
  private rejected = 0;
  private untimed = 0;

  constructor(
    private readonly settings: ExpirySettings,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {
    const { log, settle, timer, nowMs, sweepMs, mostOpen } = settings;
    this.queue = new DueQueue(timer, nowMs, mostOpen);
    this.sweep = log && new ReservationSweep(log, settle, logger, sweepMs);
    this.warning = new RationedWarning(logger);
  }

  reserve(charges: readonly PolicyCharge[], options: ExpiryOptions, where: string): Answer<Reservation> | undefined {
    const expiry = readExpiry(options, where);
    if (expiry === undefined) return undefined;
    checkExpiryCost(expiry, charges, where);
    return this.reserveUntil(expiry, charges);
  }

  /**
   * Decides charges of mode `'reserve'`. Throws as `Engine.decide` does.
   *
   * @throws {ReservationsFullError} when too many are open, and nothing but this process would settle it
   */
  reserveUntil(expiry: Expiry, charges: readonly PolicyCharge[]): Answer<Reservation> {
    // Before the answer: what a dead process has reserved may be why this reservation is rejected.
    if (expiry.finalCost !== undefined) this.expectRoom();
    return andThen(this.settings.decide(charges), (judgement) => this.reserved(judgement, expiry));
  }

  /** Begins to settle what processes that died have reserved, if the charges of requests expire. */
  start(routes: LimitedRoutes): void {
    const expires = (name: string): boolean => Array.from(routes.boundTo(name)).some((policy) => policy.expiry);
    if (Array.from(routes.policyNames()).some(expires)) this.sweep?.start();
  }

  /** Lets the reserved charge of a request expire. It is settled at the request's end, or at its expiry, and not by both. */
  settlerOf(receipt: Receipt, { expiry }: BoundPolicy): ExpiringCharges | undefined {
    if (expiry === undefined) return undefined;
    this.sweep?.start();
    return this.chargesOf([receipt], expiry);
  }

  /** A snapshot of the counts. */
  stats(): { readonly reservations: ReservationStats } {
    return { reservations: { open: this.queue.size, rejected: this.rejected, untimed: this.untimed } };
  }

  /** Stops the sweeps, and resolves when what this process has claimed is settled. All else is left to the others. */
  async stop(): Promise<void> {
    this.queue.clear();
    await Promise.allSettled([this.sweep?.stop(), ...this.underWay]);
  }

  private reserved({ decision, receipts, charges: decided }: Judgement, expiry: Expiry): Reservation {
    const reserved = receipts.filter(({ charge }) => reserves(charge));
    // A rejection, and a free pass, have nothing to settle.
    if (reserved.length === 0) return new Reservation(decision, new ReservedCharges(reserved), decided);
    const charges = this.chargesOf(reserved, expiry);
    if (!charges.isTimed && !charges.isLogged) this.noteUntimed(charges);
    return new Reservation(decision, charges, decided);
  }

  private chargesOf(reserved: readonly Receipt[], { after, finalCost }: Expiry): ExpiringCharges {
    const { queue } = this;
    // A policy that the request has run over to may have reserved less, with a cost of its own.
    const finalCosts = reserved.map(({ proof }) => Math.min(finalCost ?? proof.cost, proof.cost));
    const logged = finalCost === undefined ? undefined : this.logged(reserved, finalCost, after);
    const dueAtMs = queue.nowMs() + after / MICROSECONDS;
    return new ExpiringCharges(reserved, finalCosts, dueAtMs, queue, logged, this.settings.within, this.underWay);
  }

  /** Makes sure that something settles the next reservation at its expiry: the sweeps of a log, or a place for its timer. */
  private expectRoom(): void {
    const { sweep, queue } = this;
    if (sweep !== undefined) return sweep.start();
    if (!queue.isFull) return undefined;
    this.rejected++;
    throw new ReservationsFullError(queue.most, queue.firstInMs);
  }

  /** Counts a reservation that nothing settles at its expiry, if that would refund something. */
  private noteUntimed(charges: ExpiringCharges): void {
    if (!charges.refunds) return;
    this.untimed++;
    this.warning.warn(
      withHelp(
        `A reservation stays charged when it expires: ${this.queue.most} reservations are open in this process, and it is in no log`,
        'FG_RESERVATIONS_FULL',
      ),
    );
  }

  /** Writes a reservation into the log; undefined if other processes need not, or cannot, settle it. */
  private logged(receipts: readonly Receipt[], finalCost: number, after: number): LoggedReservation | undefined {
    if (receipts[0]!.keeper.by !== 'store') return undefined;
    const dueAt = Math.max(...receipts.map(({ proof }) => proof.at)) + after;
    const settlements = receipts.flatMap(({ proof, charge }): ChargeSettlement[] => {
      // Once the window has ended or the refill has paid it off, nothing of a charge can be refunded.
      if (proof.cost <= finalCost || proof.resetAt <= dueAt) return [];
      const isKnown = isLoggable(proof);
      if (!isKnown)
        this.warnLocal(`the algorithm of policy '${charge.policy.name}' cannot be made again from its rate`);
      return isKnown ? [{ receipt: proof, finalCost, overdraft: 0 }] : [];
    });
    if (settlements.length === 0) return undefined;
    const { log, traits } = this.settings;
    if (log === undefined) {
      if (!traits.isLocal) this.warnLocal('the store has no reservation log: use RedisStore');
      return undefined;
    }
    const logged = log.add(settlements, dueAt);
    logged.written.catch((error: unknown) =>
      this.warning.warn(
        withHelp(`A reservation stays charged if this process dies: ${reasonOf(error)}`, 'FG_RESERVATION_LOG'),
      ),
    );
    return logged;
  }

  private warnLocal(why: string): void {
    if (this.hasWarnedLocal) return;
    this.hasWarnedLocal = true;
    this.logger.warn(
      withHelp(
        `Reservations expire only while their process runs, and stay charged if it dies: ${why}`,
        'FG_RESERVATION_LOG',
      ),
    );
  }
}
