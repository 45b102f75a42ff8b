import type { Histogram } from 'hdr-histogram-js';
import { RateLimitGuard } from 'nestjs-floodgate';
import { encodedTimes, newTimes } from './times-histogram.js';

/**
 * Measures how long requests wait for the guard: Redis, the network, and the turns of a busy event loop.
 *
 * It skips decisions that the guard makes without waiting, such as those of the denial cache.
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
