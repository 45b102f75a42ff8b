import type { Answer } from '../../util/answer.js';
import { asking, type Decider, type LimitedRequest } from '../../charges/decider.js';
import type { OpenCharges } from './open-charges.js';
import type { LayerVerdict } from '../../charges/layer-verdict.js';

/** Marks verdicts as estimates while open charges of this process may still be refunded by a settlement. */
export class EstimatesLayer implements Decider {
  constructor(
    private readonly open: OpenCharges,
    private readonly inner: Decider,
  ) {}

  decide(request: LimitedRequest): Answer<LayerVerdict> {
    const { charges } = request;
    return this.open.concerns(charges)
      ? this.open.decide(charges, (asked) => this.inner.decide(asking(request, asked)))
      : this.inner.decide(request);
  }
}
