import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';
import { RateLimitGuard } from 'nestjs-floodgate';

/**
 * Times the guard from the outside, which is what a request waits for: Redis, the way there and back, and the turns of a busy
 * event loop. Only where the guard had to wait: refusals that are certain take it no time.
 */
export class DecisionMeter {
  private readonly times = newHistogram();

  constructor() {
    const { times } = this;
    const guard = RateLimitGuard.prototype;
    // eslint-disable-next-line typescript/unbound-method -- called with the guard as `this` below
    const { canActivate } = guard;
    guard.canActivate = function (this: RateLimitGuard, context) {
      const since = performance.now();
      const answer = canActivate.call(this, context);
      if (typeof answer === 'boolean') return answer;
      return answer.finally(() => times.recordValue(Math.round((performance.now() - since) * 1000)));
    };
  }

  reset(): void {
    this.times.reset();
  }

  encoded(): string {
    return encodeIntoCompressedBase64(this.times);
  }
}

/** What several meters have measured: microseconds. */
export function decisionTimes(encoded: readonly string[]): Histogram {
  const times = newHistogram();
  for (const text of encoded) times.add(decodeFromCompressedBase64(text));
  return times;
}

function newHistogram(): Histogram {
  return build({ highestTrackableValue: 1_000_000_000, numberOfSignificantValueDigits: 3 });
}
