import type { ChargeVerdict } from '../../stores/store.js';
import { type Answer, attempt } from '../../util/answer.js';
import { later, type LayerVerdict } from '../layer-verdict.js';
import type { ActiveOverrides } from '../overrides/active-overrides.js';
import type { PolicyCharge } from '../policy-charge.js';

/** A charge, and what a decider said about it. */
interface Said {
  readonly charge: PolicyCharge;
  readonly verdict: ChargeVerdict;
  /** Microseconds of the store's clock. */
  readonly at: number;
}

/** One policy of a request, and those that its `else` leads to. The row knows what was asked about it, and what the store said. */
export class ElseRow {
  /** The charges of the row that were made, in its order. */
  readonly made: PolicyCharge[];
  /** The charges of the last question. The first one that the request fits takes it. */
  asked: readonly PolicyCharge[];
  /** Why the charge behind the last one could not be made. */
  failure: { readonly reason: unknown } | undefined;
  /** How many of the charges were asked at least once. */
  private reached = 1;
  private isComplete = false;
  private said: Said | undefined;
  /** The soonest rejection by a charge that the last question left out. */
  private earlier: Said | undefined;
  /** What each charge of the last question got. */
  private answers: readonly ChargeVerdict[] = [];

  constructor(readonly first: PolicyCharge) {
    this.made = [first];
    this.asked = [first];
  }

  /** The charge that takes the request; of a request that fits no charge of the row, the one that has room first. */
  get charge(): PolicyCharge {
    return this.said!.charge;
  }

  /** The verdict on `charge`. */
  get verdict(): ChargeVerdict {
    return this.said!.verdict;
  }

  get hasGoneOn(): boolean {
    return this.reached > 1;
  }

  /** Whether the request fits no charge so far, and the row goes on. */
  get isFull(): boolean {
    const { said, first, failure, isComplete } = this;
    if (said!.verdict.allowed) return false;
    return isComplete ? this.hasNext || failure !== undefined : first.instead !== undefined;
  }

  get hasNext(): boolean {
    return this.reached < this.made.length;
  }

  /**
   * Takes the part of a verdict that is about the row.
   *
   * @param from the index of its first charge
   * @returns the number of its charges
   */
  hear({ at, charges, asked }: LayerVerdict, from: number): number {
    const { length } = this.asked;
    this.answers = charges.slice(from, from + length);
    const all = this.answers.map((verdict, i): Said => ({ charge: asked?.[from + i] ?? this.asked[i]!, verdict, at }));
    const taking = all.find(({ verdict }) => verdict.allowed);
    if (taking !== undefined) {
      this.said = taking;
      return length;
    }
    // The request passes as soon as one policy of the row takes it. Of equal ones the first is told: the client knows it best.
    const { earlier } = this;
    if (earlier !== undefined) {
      all.unshift({ ...earlier, verdict: later(earlier.verdict, Math.max(0, at - earlier.at)), at });
    }
    this.said = all.reduce((one, other) => (other.verdict.retryAfter < one.verdict.retryAfter ? other : one));
    return length;
  }

  /** Makes the charges of the row that were not made so far. It never rejects: `failure` says why one could not be made. */
  complete(): Answer<void> {
    const last = this.made.at(-1)!;
    const { instead } = last;
    if (this.isComplete || instead === undefined) {
      this.isComplete = true;
      return undefined;
    }
    return attempt<PolicyCharge, void>(
      () => instead(last),
      (charge) => {
        this.made.push(charge);
        return this.complete();
      },
      (reason) => {
        this.isComplete = true;
        this.failure = { reason };
      },
    );
  }

  /** Ends the row in front of a charge whose client an override blocks: a block is no lack of room. */
  endAtBlock(overrides: Pick<ActiveOverrides, 'exemptsOrBlocks'>): void {
    const { made, reached } = this;
    const blocked = made.findIndex((charge, i) => i >= reached && overrides.exemptsOrBlocks(charge) === 'blocked');
    if (blocked < 0) return;
    made.length = blocked;
    this.failure = undefined;
  }

  /**
   * Chooses the charges of the next question: all up to the next ones, as alternatives, or the next one by itself.
   *
   * @param together whether the store decides alternatives
   */
  goOn(together: boolean, overrides: Pick<ActiveOverrides, 'exemptsOrBlocks'>): void {
    const { made } = this;
    // An exempt client needs no question, and prefetched tokens are not in the store's state.
    const isAlone = (charge: PolicyCharge): boolean =>
      !together || charge.policy.prefetch !== undefined || overrides.exemptsOrBlocks(charge) === 'exempt';
    if (isAlone(made[this.reached]!)) {
      this.earlier = this.said;
      this.asked = [made[this.reached++]!];
      return;
    }
    this.earlier = undefined;
    while (this.hasNext && !isAlone(made[this.reached]!)) this.reached++;
    this.asked = made.slice(0, this.reached).map((charge, i) => (i === 0 ? charge : { ...charge, alternative: true }));
  }

  /** Takes the blocks out of charges whose rejection they have counted: the next question is of the same request. */
  uncount(): void {
    const { answers } = this;
    const hasCounted = ({ block }: PolicyCharge, { allowed, blockedFor }: ChargeVerdict): boolean =>
      block !== undefined && !allowed && blockedFor === undefined;
    this.asked = this.asked.map((charge, i) =>
      hasCounted(charge, answers[i]!) ? { ...charge, block: undefined } : charge,
    );
  }
}
