import type { Histogram } from 'hdr-histogram-js';
import { RateLimitGuard } from 'nestjs-floodgate';
import { encodedTimes, newTimes } from './times-histogram.js';

/**
 * Times the guard from the outside, which is what a request waits for: Redis, the way there and back, and the turns of a busy
 * event loop. Only where the guard had to wait: refusals that are certain take it no time.
 */
export class DecisionMeter {
  private readonly times: Histogram = newTimes();

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
    return encodedTimes(this.times);
  }
}
