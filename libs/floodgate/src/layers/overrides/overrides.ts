import { type Answer, andThen } from '../../util/answer.js';
import { asking, type Decider, type LimitedRequest } from '../../charges/decider.js';
import type { ActiveOverrides, OverriddenRequest } from './active-overrides.js';
import { placesAmong, type LayerVerdict, UNASKED } from '../../charges/layer-verdict.js';

const MICROSECONDS = 1000;

/**
 * Applies overrides. A charge gets the numbers of its override. A charge whose client is exempt is left out. If an override
 * blocks the client, the request is rejected without asking the inner decider.
 */
export class OverridesLayer implements Decider {
  constructor(
    private readonly active: ActiveOverrides,
    private readonly inner: Decider,
  ) {}

  decide(request: LimitedRequest): Answer<LayerVerdict> {
    const { active, inner } = this;
    const overridden = active.size === 0 ? undefined : active.apply(request.charges);
    if (overridden === undefined) return inner.decide(request);
    const { all, asked, blocks, counts } = overridden;
    if (blocks.size === 0 && asked.length > 0) {
      return andThen(inner.decide(asking(request, asked)), (verdict) => amongAll(overridden, verdict));
    }
    const verdicts = all.map((_, i) => blocks.get(i) ?? UNASKED);
    const at = active.nowMs() * MICROSECONDS;
    return { allowed: blocks.size === 0, at, charges: verdicts, source: 'override', asked: all, overridden: counts };
  }
}

/** Extends the verdict on the asked charges to all charges of the request. */
function amongAll(overridden: OverriddenRequest, verdict: LayerVerdict): LayerVerdict {
  const { all, asked, counts } = overridden;
  const { allowed, at, charges, source, isPaused, unavailable } = verdict;
  if (asked.length === all.length) {
    return { allowed, at, charges, source, asked: verdict.asked ?? asked, overridden: counts, isPaused, unavailable };
  }
  const places = placesAmong(all, asked);
  return {
    ...verdict,
    charges: places.map((place) => (place < 0 ? UNASKED : verdict.charges[place]!)),
    asked: places.map((place, i) => (place < 0 ? all[i]! : (verdict.asked ?? asked)[place]!)),
    overridden: counts,
  };
}
