import type { Answer } from '../../util/answer.js';
import type { Decider } from '../../charges/decider.js';
import type { Execution } from '../../charges/execution.js';
import type { OpenCharges } from './open-charges.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { LayerVerdict } from '../../charges/layer-verdict.js';

/** Marks verdicts as estimates while open charges of this process may still be refunded by a settlement. */
export class EstimatesLayer implements Decider {
  constructor(
    private readonly open: OpenCharges,
    private readonly inner: Decider,
  ) {}

  decide(charges: readonly PolicyCharge[], execution?: Execution): Answer<LayerVerdict> {
    return this.open.concerns(charges)
      ? this.open.decide(charges, (asked) => this.inner.decide(asked, execution))
      : this.inner.decide(charges, execution);
  }
}
