import type { Decision } from '../policy/decision.js';
import { processTimer, type Timer } from '../stores/timer.js';
import type { ChargeReceipt, Verdict } from '../stores/store.js';
import { isPromise } from '../util/is-promise.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import { RationedWarning } from '../util/rationed-warning.js';
import { leasesOfDecision } from './charged-decision.js';
import type { Fallback } from './fallback.js';
import type { PolicyCharge } from './policy-charge.js';
import type { StoreGateway } from './store-gateway.js';

/** A lease is renewed this often before it ends: two renewals may be lost. */
const RENEWALS = 4;
const MICROSECONDS = 1000;

/** One policy's lease of a request. */
interface Lease {
  readonly charge: PolicyCharge;
  /** Whether the fallback of this process made it, and not the store. */
  readonly isLocal: boolean;
  /** When it ends, as the store last said it. */
  receipt: ChargeReceipt;
  /** The round of its group in which it was taken or last renewed. */
  round: number;
  isRenewing: boolean;
  isReleased: boolean;
}

/** The leases of one length that requests hold. */
interface Group {
  readonly held: Set<Lease>;
  round: number;
  isArmed: boolean;
}

/** The leases of one request. */
export interface HeldLeases {
  /** Renews them from now on: their release is certain to come. */
  readonly keep: () => void;
  /** Releases them. Only the first call does anything. */
  readonly release: () => void;
}

/**
 * The leases that the requests of this process hold: renews those that last, and releases each once. There is one timer for each
 * length of leases, whatever the number of requests.
 *
 * A renewal that fails is tried again, as long as the request lasts. If the lease has ended meanwhile, the renewal takes another
 * one as soon as one is free, and until then its request does not count: so the store never counts more than the limit.
 */
export class Leases {
  /** By length in microseconds. */
  private readonly groups = new Map<number, Group>();
  private readonly ended: RationedWarning;

  /** @param timer the store's own where its clock is not that of the process */
  constructor(
    private readonly gateway: StoreGateway,
    private readonly fallback: Fallback,
    logger: Pick<Logger, 'warn'>,
    private readonly timer: Timer = processTimer,
  ) {
    this.ended = new RationedWarning(logger);
  }

  /** How many leases are renewed. */
  get size(): number {
    let size = 0;
    for (const { held } of this.groups.values()) size += held.size;
    return size;
  }

  /**
   * The leases of an allowed request; undefined where it has none.
   *
   * @param charges those of the decision
   */
  of(charges: readonly PolicyCharge[], decision: Decision): HeldLeases | undefined {
    // Every request passes here: most have no lease.
    let any = false;
    for (let i = 0; i < charges.length; i++) any ||= charges[i]!.algorithm.lease !== undefined;
    if (!any) return undefined;
    const isLocal = decision.decidedBy === 'local';
    const leases = leasesOfDecision(decision).map(({ charge, receipt }): Lease => {
      return { charge, receipt, isLocal, round: 0, isRenewing: false, isReleased: false };
    });
    if (leases.length === 0) return undefined;
    return {
      keep: () => leases.forEach((lease) => this.keep(lease)),
      release: () => leases.forEach((lease) => this.release(lease)),
    };
  }

  private keep(lease: Lease): void {
    if (lease.isReleased) return;
    const group = this.groupOf(lease);
    lease.round = group.round;
    group.held.add(lease);
    if (!group.isArmed) this.arm(lease.receipt.algorithm.lease!, group);
  }

  private release(lease: Lease): void {
    if (lease.isReleased) return;
    lease.isReleased = true;
    this.groupOf(lease).held.delete(lease);
    // Its end is not known before the renewal is answered.
    if (!lease.isRenewing) this.free(lease);
  }

  private free({ receipt, isLocal }: Lease): void {
    if (isLocal) this.fallback.refund([receipt]);
    else this.gateway.refund([receipt]);
  }

  private groupOf({ receipt }: Lease): Group {
    const length = receipt.algorithm.lease!;
    let group = this.groups.get(length);
    if (group === undefined) this.groups.set(length, (group = { held: new Set(), round: 0, isArmed: false }));
    return group;
  }

  /** Begins a round. The timer stands still while nothing is held. */
  private arm(length: number, group: Group): void {
    group.isArmed = true;
    this.timer(
      length / RENEWALS / MICROSECONDS,
      () => {
        group.isArmed = false;
        if (group.held.size === 0) return;
        group.round++;
        // A lease of this round is younger than a part: its turn is at the next one.
        for (const lease of group.held) if (lease.round < group.round - 1) this.renew(lease, group);
        this.arm(length, group);
      },
      true,
    );
  }

  private renew(lease: Lease, group: Group): void {
    if (lease.isRenewing) return;
    lease.isRenewing = true;
    const { charge, receipt, isLocal } = lease;
    const algorithm = receipt.algorithm.renewal!(receipt.resetAt);
    // A renewal is no request: it begins no block and is not stopped by one, and a shadow's has to fit.
    const charges = [{ ...charge, algorithm, shadow: false, block: undefined }];
    const failed = (error: unknown): void => {
      this.gateway.failure(error); // logs it, unless the store has said that it is unavailable
      this.renewed(lease);
    };
    try {
      const verdict = isLocal ? this.fallback.consume(charges) : this.gateway.consume(charges);
      if (isPromise(verdict)) verdict.then((later) => this.renewed(lease, later, group.round), failed);
      else this.renewed(lease, verdict, group.round);
    } catch (error) {
      failed(error);
    }
  }

  /** @param verdict undefined: the store has not answered */
  private renewed(lease: Lease, verdict?: Verdict, round = lease.round): void {
    lease.isRenewing = false;
    const { receipt, charge } = lease;
    if (verdict?.allowed === true) {
      lease.receipt = { ...receipt, at: verdict.at, resetAt: verdict.at + verdict.charges[0]!.resetAfter };
      lease.round = round;
    } else if (verdict !== undefined) {
      this.ended.warn(
        withHelp(
          `A lease of policy '${charge.policy.name}' ended before it was renewed, and none is free: its request is not counted ` +
            `until one is`,
          'FG_LEASE_ENDED',
        ),
      );
    }
    if (lease.isReleased) this.free(lease);
  }
}
