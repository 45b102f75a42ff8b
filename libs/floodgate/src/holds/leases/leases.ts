import { MAX_TALLIES, OTHER } from '../../watch/policy-tallies.js';
import type { LeaseStats } from '../../watch/stats.js';
import { processTimer, type Timer } from '../../stores/timer.js';
import type { Verdict } from '../../stores/store.js';
import { attempt } from '../../util/answer.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import { RationedWarning } from '../../util/rationed-warning.js';
import type { Receipt } from '../../charges/judgement.js';
import { unawaited } from '../../util/unawaited.js';

/** A lease is renewed this often before it ends: two renewals may be lost. */
const RENEWALS = 4;
const MICROSECONDS = 1000;

/** The leases of one length that requests hold. */
interface Group {
  readonly length: number;
  readonly held: Set<RenewedLease>;
  round: number;
  isArmed: boolean;
}

/** A lease of one request. */
export interface HeldLease {
  /** The index of its charge in the request. */
  readonly index: number;
  /** Makes it a whole lease, and renews it no further. Call it where the release is not certain to come: it then expires by itself. */
  confirm(): void;
  /** Starts to renew the lease. Call it once the release is certain to come. */
  keep(): void;
  /** Stops renewing the lease until `keep` is called again: it then expires by itself. */
  lapse(): void;
  /** Releases it. Only the first call does anything. */
  release(): void;
}

class RenewedLease implements HeldLease {
  /** The round of its group in which it was taken or last renewed. */
  round = 0;
  /** Whether it is renewed until it is released. */
  isKept = false;
  isRenewing = false;
  isReleased = false;

  /**
   * @param receipt the last receipt from its keeper, which says when it ends
   * @param group the leases that last as long
   */
  constructor(
    public receipt: Receipt,
    public group: Group,
    private readonly leases: Leases,
  ) {}

  get index(): number {
    return this.receipt.index;
  }

  confirm(): void {
    const { length } = this.receipt.proof.algorithm.lease!;
    this.isKept = false;
    if (this.isReleased) return;
    if (this.group.length < length) this.leases.add(this);
    else this.group.held.delete(this);
  }

  keep(): void {
    this.isKept = true;
    if (!this.isReleased) this.leases.add(this);
  }

  lapse(): void {
    this.isKept = false;
    this.group.held.delete(this);
  }

  release(): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.group.held.delete(this);
    // The lease's end is not known before the renewal is answered.
    if (!this.isRenewing) this.free();
  }

  free(): void {
    const { keeper, proof } = this.receipt;
    keeper.refund([proof]);
  }
}

/**
 * Keeps the leases of this process's requests: renews those of long requests, and releases each once. Each length of lease has
 * one timer, whatever the number of requests. A lease is granted for a few seconds, since the answer may be lost; its first renewal makes it
 * a whole one.
 *
 * A renewal that fails is tried again, as long as the request lasts. While a renewal is under way, however late its answer, no other
 * one is sent: it would not find the lease that the first one has moved. If the lease has ended meanwhile, the renewal takes another
 * one as soon as one is free, and until then its request does not count: so the store never counts more than the limit.
 */
export class Leases {
  /** Groups of leases by length in microseconds. */
  private readonly groups = new Map<number, Group>();
  /** The policies whose leases were seen: their numbers fall to 0 again. */
  private readonly seen = new Map<string, number>();
  private readonly ended: RationedWarning;
  private stopped = false;

  /** @param timer the store's own if the store has a clock of its own */
  constructor(
    logger: Pick<Logger, 'warn'>,
    private readonly timer: Timer = processTimer,
  ) {
    this.ended = new RationedWarning(logger);
  }

  /** How many leases are renewed. */
  get size(): number {
    let size = 0;
    for (const { held } of this.groups.values()) for (const { isKept } of held) if (isKept) size++;
    return size;
  }

  /** How many leases each policy has, from the first time on that one is seen. */
  held(): LeaseStats[] {
    const { seen } = this;
    for (const name of seen.keys()) seen.set(name, 0);
    for (const { held } of this.groups.values()) {
      for (const { receipt, isKept } of held) {
        if (!isKept) continue;
        const { name } = receipt.charge.policy;
        const counted = seen.has(name) || seen.size < MAX_TALLIES ? name : OTHER;
        seen.set(counted, (seen.get(counted) ?? 0) + 1);
      }
    }
    return Array.from(seen, ([policy, count]) => ({ policy, held: count }));
  }

  /** The leases among the receipts of a request. */
  of(receipts: readonly Receipt[]): readonly HeldLease[] {
    const leases: RenewedLease[] = [];
    for (let i = 0; i < receipts.length; i++) {
      const receipt = receipts[i]!;
      const { lease } = receipt.charge.algorithm;
      if (lease !== undefined) leases.push(new RenewedLease(receipt, this.groupOf(lease.granted), this));
    }
    return leases;
  }

  /** Renews a lease from now on: once, unless it is kept. */
  add(lease: RenewedLease): void {
    const { group } = lease;
    if (group.held.has(lease)) return;
    lease.round = group.round;
    group.held.add(lease);
    if (!group.isArmed) this.arm(group);
  }

  /** Ends the renewals: the store is about to close. A lease that is still held ends by itself. */
  stop(): void {
    this.stopped = true;
  }

  private groupOf(length: number): Group {
    let group = this.groups.get(length);
    if (group === undefined) this.groups.set(length, (group = { length, held: new Set(), round: 0, isArmed: false }));
    return group;
  }

  /** Begins a round. The timer stands still while nothing is held. */
  private arm(group: Group): void {
    group.isArmed = true;
    this.timer(
      group.length / RENEWALS / MICROSECONDS,
      () => {
        group.isArmed = false;
        if (group.held.size === 0 || this.stopped) return;
        group.round++;
        // A lease of this round is too young: the next round renews it.
        for (const lease of group.held) if (lease.round < group.round - 1) this.renew(lease, group);
        this.arm(group);
      },
      true,
    );
  }

  private renew(lease: RenewedLease, group: Group): void {
    if (lease.isRenewing) return;
    lease.isRenewing = true;
    const { proof, keeper } = lease.receipt;
    // Made of the lease alone: a renewal is not the request that took it.
    const renewal = { key: proof.key, algorithm: proof.algorithm.lease!.renewal(proof.resetAt), cost: proof.cost };
    const renewed = attempt<Verdict, void>(
      () => keeper.decidePatiently([renewal]),
      (verdict) => this.renewed(lease, verdict, group.round),
      (error) => {
        if (!this.stopped) keeper.failure(error); // logs it, unless the store has said that it is unavailable
        this.renewed(lease);
      },
    );
    unawaited(renewed);
  }

  /** @param verdict undefined: the store has not answered */
  private renewed(lease: RenewedLease, verdict?: Verdict, round = lease.round): void {
    lease.isRenewing = false;
    const { receipt, isKept } = lease;
    if (!isKept) lease.group.held.delete(lease);
    if (verdict?.allowed === true) {
      const { at, charges } = verdict;
      lease.receipt = { ...receipt, proof: { ...receipt.proof, at, resetAt: at + charges[0]!.resetAfter } };
      const whole = this.groupOf(receipt.proof.algorithm.lease!.length);
      if (lease.group === whole) lease.round = round;
      else {
        const isHeld = lease.group.held.delete(lease);
        lease.group = whole;
        if (isHeld) this.add(lease);
      }
    } else if (verdict !== undefined) {
      this.ended.warn(
        withHelp(
          `A lease of policy '${receipt.charge.policy.name}' ended before it was renewed, and none is free: its request is not counted ` +
            `until one is`,
          'FG_LEASE_ENDED',
        ),
      );
    }
    if (lease.isReleased) lease.free();
  }
}
