import { JudgedPolicy, type JudgedNumbers, MICROSECONDS } from '../../charges/judged-policy.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { OpenCharges } from '../estimates/open-charges.js';
import type { ActiveOverrides } from '../overrides/active-overrides.js';
import type { Decision } from '../../policy/decision.js';
import { type StateEntry, tellsShortfall } from '../../stores/charge.js';
import type { PlainStore, PlainVerdict } from '../../stores/plain.js';
import type { DecisionMonitor } from '../../watch/monitor.js';

/** A call whose only charge is plain, with what its decisions need: the charge is rarely in the CPU's cache. */
export interface PlainCall {
  readonly charges: readonly PolicyCharge[];
  readonly numbers: JudgedNumbers;
  readonly cost: number;
  /** The state of the charge's key, once the store has left it on the charge. */
  entry: StateEntry | undefined;
}

/**
 * The fast path of `RateLimiter.consume` and `consumeSync` over `MemoryStore`: a kept call of one plain charge costs one decision of
 * the store, half the time of the layers. It decides where no layer has anything to say, and leaves all else to them.
 */
export class PlainPath {
  /** The numbers of each policy, once for all of its calls. */
  private readonly numbers = new WeakMap<PolicyCharge['policy'], JudgedNumbers>();

  constructor(
    private readonly store: PlainStore,
    private readonly open: Pick<OpenCharges, 'isIdle'>,
    private readonly overrides: Pick<ActiveOverrides, 'size'>,
    private readonly monitor: DecisionMonitor,
  ) {}

  /** The call of these charges; undefined unless there is one, which rejects by itself, without a block, a lease and a settlement. */
  of(charges: readonly PolicyCharge[]): PlainCall | undefined {
    const [charge] = charges;
    const { policy, algorithm, headroom, cost, mode, shadow, block } = charge!;
    if (charges.length > 1 || mode !== 'take' || cost === 0 || shadow || block !== undefined) return undefined;
    if (tellsShortfall(charge!) || algorithm.lease !== undefined || policy.thresholds !== undefined) return undefined;
    let numbers = this.numbers.get(policy);
    if (numbers === undefined) {
      this.numbers.set(policy, (numbers = { policy, algorithm, headroom, override: undefined, insteadOf: undefined }));
    }
    return { charges, numbers, cost, entry: undefined };
  }

  /** The decision; undefined where the layers have to decide. */
  decide(call: PlainCall): Decision | undefined {
    const { charges, entry, numbers, cost } = call;
    if (this.overrides.size !== 0 || !this.open.isIdle) return undefined;
    const known = entry ?? (call.entry = charges[0]!.entry);
    if (known === undefined) return undefined;
    const { policy, algorithm, headroom } = numbers;
    const since = this.monitor.begin();
    let verdict: PlainVerdict | undefined;
    try {
      verdict = this.store.consumePlain(known, charges[0]!, algorithm, cost, headroom);
    } catch {
      return undefined; // a clock of the application that fails: the layers meet it, too
    }
    if (verdict === undefined) call.entry = undefined;
    if (verdict === undefined || (!verdict.allowed && policy.else !== undefined)) return undefined;
    const judged = new JudgedPolicy(charges[0]!, verdict, numbers);
    const { allowed, retryAfterMs, delayMs } = judged;
    const decidedAtMs = verdict.at / MICROSECONDS;
    const decision = { allowed, decidedBy: 'store', policies: [judged], retryAfterMs, delayMs, decidedAtMs } as const;
    return this.monitor.decidedOne(charges, policy, decision, since);
  }
}
