import type { ChargeVerdict } from '../../stores/store.js';
import { type Answer, attempt } from '../../util/answer.js';
import { later, type LayerVerdict } from '../../charges/layer-verdict.js';
import type { ActiveOverrides } from '../overrides/active-overrides.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';

/** A charge, and what a decider said about it. */
interface AnsweredCharge {
  readonly charge: PolicyCharge;
  readonly verdict: ChargeVerdict;
  /** Microseconds of the store's clock. */
  readonly at: number;
}

/** One policy of a request, and the one that its `else` leads to. The row knows what was asked about it, and what the store said. */
export class ElseRow {
  /** The charges of the last question. The first one that the request fits takes it. */
  asked: readonly PolicyCharge[];
  /** The charge behind the first one, once it is made; undefined where the client is blocked there. */
  next: PolicyCharge | undefined;
  /** Why `next` could not be made. */
  failure: { readonly reason: unknown } | undefined;
  /** Whether the request was asked of `next`. */
  hasGoneOn = false;
  private isMade = false;
  private last: AnsweredCharge | undefined;
  /** What the first charge got, where the last question left it out. */
  private earlier: AnsweredCharge | undefined;

  constructor(readonly first: PolicyCharge) {
    this.asked = [first];
  }

  /** The charge that takes the request; of a request that fits neither charge, the one that has room first. */
  get charge(): PolicyCharge {
    return this.last!.charge;
  }

  /** The verdict on `charge`. */
  get verdict(): ChargeVerdict {
    return this.last!.verdict;
  }

  /** Whether the request does not fit the first charge, and the row goes on. */
  get isFull(): boolean {
    if (this.last!.verdict.allowed || this.hasGoneOn) return false;
    return this.isMade ? this.next !== undefined || this.failure !== undefined : this.first.instead !== undefined;
  }

  /**
   * Takes the part of a verdict that is about the row.
   *
   * @param from the index of its first charge
   * @returns the number of its charges
   */
  hear({ at, charges, asked }: LayerVerdict, from: number): number {
    const { length } = this.asked;
    const all = this.asked.map((charge, i): AnsweredCharge => ({
      charge: asked?.[from + i] ?? charge,
      verdict: charges[from + i]!,
      at,
    }));
    // The request passes as soon as one policy of the row takes it. Of equal ones the first is told: the client knows it best.
    const { earlier } = this;
    if (earlier !== undefined) {
      all.unshift({ ...earlier, verdict: later(earlier.verdict, Math.max(0, at - earlier.at)), at });
    }
    this.last =
      all.find(({ verdict }) => verdict.allowed) ??
      all.reduce((one, other) => (other.verdict.retryAfter < one.verdict.retryAfter ? other : one));
    return length;
  }

  /**
   * Makes `next`, unless it was made. It never rejects: `failure` says why it could not be made. A client whom an override blocks in
   * `next` ends the row: a block is no lack of room.
   */
  complete(overrides: Pick<ActiveOverrides, 'exemptsOrBlocks'>): Answer<void> {
    if (this.isMade) return undefined;
    this.isMade = true;
    return attempt<PolicyCharge, void>(
      () => this.first.instead!(this.first),
      (charge) => {
        if (overrides.exemptsOrBlocks(charge) !== 'blocked') this.next = charge;
      },
      (reason) => {
        this.failure = { reason };
      },
    );
  }

  /**
   * Chooses the charges of the next question: `next` as an alternative, or by itself.
   *
   * @param together whether the store decides alternatives
   */
  goOn(together: boolean, overrides: Pick<ActiveOverrides, 'exemptsOrBlocks'>): void {
    const next = this.next!;
    this.hasGoneOn = true;
    // An exempt client needs no question.
    const isAlone = !together || overrides.exemptsOrBlocks(next) === 'exempt';
    if (isAlone) this.earlier = this.last;
    this.asked = isAlone ? [next] : [this.first, { ...next, alternative: true }];
  }
}
