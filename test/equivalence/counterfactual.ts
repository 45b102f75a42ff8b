import type { Algorithm } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import type { Textbook } from '../../lab/textbook/textbook.js';
import { textbookOf } from '../support/textbook-of.js';

/** A charge as it comes to in the end: its cost changes when it is settled. */
export interface ModelCharge {
  readonly at: number;
  cost: number;
}

/** What a peek shows of a key. */
export interface Seen {
  readonly remaining: number;
  readonly resetAfter: number;
}

/**
 * The counterfactual of one key: it holds every charge, and counts all of them anew at each question, each at the cost that it has
 * come to by now. It knows nothing of refunds. Its clock does not step back.
 */
export class Counterfactual {
  readonly charges: ModelCharge[] = [];

  constructor(private readonly algorithm: Algorithm) {}

  charge(at: number, cost: number): ModelCharge {
    const charge = { at, cost };
    if (cost > 0) this.charges.push(charge);
    return charge;
  }

  /** Whether a cost fits. */
  fits(now: number, cost: number): boolean {
    return this.textbook().fits(now, cost);
  }

  seen(now: number): Seen {
    const textbook = this.textbook();
    const isBucket = this.algorithm.name.endsWith('bucket');
    return { remaining: textbook.remaining(now), resetAfter: isBucket ? textbook.resetAfter(now) : 0 };
  }

  private textbook(): Textbook {
    const textbook = textbookOf(this.algorithm);
    for (const { at, cost } of this.charges) {
      if (cost === 0) textbook.begin(at);
      textbook.charge(at, cost);
    }
    return textbook;
  }
}
