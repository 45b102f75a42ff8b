import { globalTag, type IdentityNaming, namedIdentity } from '../../identity/identity-tag.js';
import { reachedAt } from '../../policy/thresholds.js';
import { reserves, takes } from '../../stores/charge.js';
import type { ChargeVerdict, SettledCharge } from '../../stores/store.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import { LruMap } from '../../util/lru-map.js';
import { notify } from '../../util/notify.js';
import { RationedWarning } from '../../util/rationed-warning.js';
import { atTurnsEnd } from '../../util/real-timers.js';
import { reasonOf } from '../../util/thrown.js';
import type { ChargeKeeper } from '../../charges/charge-keeper.js';
import type { Receipt } from '../../charges/judgement.js';
import type { LayerVerdict } from '../../charges/layer-verdict.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { markOf } from './marks.js';
import type { ThresholdEvent } from './threshold-event.js';
import { unawaited } from '../../util/unawaited.js';

/** Marks to remember, so that a level that was told is not asked for again. */
const MAX_KNOWN = 10_000;
const MICROSECONDS = 1000;

/** The module's options that thresholds need. */
export interface ThresholdSettings {
  readonly onThreshold: (event: ThresholdEvent) => void;
  readonly decisionIdentity?: IdentityNaming | undefined;
}

/** A level that a charge has reached. */
interface Reached {
  readonly charge: PolicyCharge;
  readonly level: number;
  readonly verdict: Pick<ChargeVerdict, 'remaining' | 'resetAfter'>;
  /** The instant of the verdict in microseconds. */
  readonly at: number;
  readonly keeper: ChargeKeeper;
}

/**
 * Tells `onThreshold` when an identity has used up a part of a policy's limit: once for each window, identity and level, over all
 * processes.
 *
 * The store decides atomically, so exactly one request takes an identity from below a level to it. Refunds can take it back, and
 * a settlement does not say what was used before it. So a mark in the store decides which process tells. Nothing waits for that.
 * If the mark fails, this process tells nevertheless.
 */
export class Thresholds {
  /** Until when each mark stands: microseconds of the keeper's clock. */
  private readonly known = new LruMap<number>(MAX_KNOWN);
  private readonly pending = new Set<Promise<void>>();
  private readonly failed: RationedWarning;
  private readonly onThreshold: (event: ThresholdEvent) => void;
  private readonly naming: IdentityNaming;

  constructor({ onThreshold, decisionIdentity = 'tag' }: ThresholdSettings, logger: Pick<Logger, 'warn'>) {
    this.onThreshold = onThreshold;
    this.naming = decisionIdentity;
    this.failed = new RationedWarning(logger);
  }

  /** Looks at the charges of an allowed request. It only compares numbers, unless a level was reached. */
  decided(charges: readonly PolicyCharge[], { at, charges: verdicts }: LayerVerdict, keeper: ChargeKeeper): void {
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      const { thresholds } = charge.policy;
      if (thresholds === undefined || charge.shadow || !(takes(charge) || reserves(charge))) continue;
      const verdict = verdicts[i]!;
      if (verdict.unasked !== undefined) continue;
      const { limit } = charge.algorithm;
      // An allowed charge has left its headroom free, which does not count as remaining for its class.
      const used = limit - verdict.remaining - (charge.headroom ?? 0);
      for (const level of thresholds) {
        const needed = reachedAt(level, limit);
        if (used >= needed && used - charge.cost < needed) this.later({ charge, level, verdict, at, keeper });
      }
    }
  }

  /** Looks at the states of reservations whose settlement has charged more. */
  settled(receipts: readonly Receipt[], settled: readonly (SettledCharge | undefined)[]): void {
    for (const [i, receipt] of receipts.entries()) {
      const { thresholds, shadow } = receipt.charge.policy;
      if (thresholds !== undefined && !shadow && (settled[i]?.charged ?? 0) > 0)
        this.wait(this.look(receipt, thresholds));
    }
  }

  /** Resolves when all levels that were reached before are told. */
  async close(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }

  /** Reads what is used after a settlement: every level up to there may have been reached by it. */
  private async look({ charge, proof: { key, algorithm }, keeper }: Receipt, levels: readonly number[]): Promise<void> {
    try {
      const { at, charges } = await keeper.decidePatiently([{ key, algorithm, cost: 0, mode: 'peek' }]);
      const { resetAfter, remaining: left } = charges[0]!;
      const used = algorithm.limit - left;
      const verdict = { resetAfter, remaining: Math.max(0, left - (charge.headroom ?? 0)) };
      for (const level of levels) {
        if (used < reachedAt(level, algorithm.limit)) break;
        this.later({ charge: { ...charge, key, algorithm }, level, verdict, at, keeper });
      }
    } catch (error) {
      keeper.failure(error, 'look at a threshold');
    }
  }

  /** Tells of a level once this turn of the event loop has ended: no request waits for it. */
  private later(reached: Reached): void {
    this.wait(
      new Promise((resolve) => {
        atTurnsEnd(() => void this.tellOnce(reached).then(resolve));
      }),
    );
  }

  private wait(work: Promise<void>): void {
    this.pending.add(work);
    unawaited(work.then(() => this.pending.delete(work)));
  }

  /** Tells of a level, unless its mark stands already. Never rejects. */
  private async tellOnce(reached: Reached): Promise<void> {
    const { charge, level, verdict, at, keeper } = reached;
    const mark = markOf(charge.key, charge.algorithm, level, at + verdict.resetAfter);
    const name = `${keeper.by} ${mark.key}`;
    if (at < (this.known.get(name) ?? 0)) return;
    let isFirst: boolean;
    let until = at + mark.algorithm.window;
    try {
      const { allowed, at: markedAt, charges } = await keeper.decidePatiently([mark]);
      isFirst = allowed;
      until = markedAt + (allowed ? charges[0]!.resetAfter : charges[0]!.retryAfter);
    } catch (error) {
      keeper.failure(error, 'mark a threshold');
      isFirst = !(at < (this.known.get(name) ?? 0)); // this process may have told meanwhile
    }
    this.known.set(name, until);
    if (isFirst) this.tell(reached);
  }

  private tell({ charge, level, verdict: { remaining, resetAfter }, at, keeper }: Reached): void {
    const { policy, override } = charge;
    const tag = policy.globalKey === undefined ? charge.identity : globalTag(policy.name);
    const event: ThresholdEvent = {
      identity: namedIdentity(tag, this.naming),
      policy: policy.name,
      ...(policy.plan !== undefined && { plan: policy.plan }),
      ...(override !== undefined && { override }),
      level,
      limit: charge.algorithm.limit,
      remaining,
      resetAtMs: (at + resetAfter) / MICROSECONDS,
      source: keeper.by,
    };
    notify(this.onThreshold, event, (error) =>
      this.failed.warn(withHelp(`onThreshold failed: ${reasonOf(error)}`, 'FG_FUNCTION_FAILED')),
    );
  }
}
