import type { Engine } from '../../libs/floodgate/src/engine/engine.js';
import type { LayeredStore } from '../../libs/floodgate/src/engine/layered-store.js';
import { chargeOf, type PolicyCharge } from '../../libs/floodgate/src/charges/policy-charge.js';
import type { ThresholdEvent } from '../../libs/floodgate/src/watch/thresholds/threshold-event.js';
import type { ThresholdSettings } from '../../libs/floodgate/src/watch/thresholds/thresholds.js';
import { partsAlone } from '../../libs/floodgate/src/limiter/parts-alone.js';
import { storeAlone } from '../../libs/floodgate/src/limiter/opened-store.js';
import { readLimiterOptions } from '../../libs/floodgate/src/limiter/options-table.js';
import { bindPolicy, type BoundPolicy } from '../../libs/floodgate/src/policy/bound-policy.js';
import { parsePolicy } from '../../libs/floodgate/src/policy/parse-policy.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import type { ChargeMode } from '../../libs/floodgate/src/stores/charge.js';
import type { Clock, RateLimitStore } from '../../libs/floodgate/src/stores/store.js';

export function boundPolicy(policy: Policy): BoundPolicy {
  return bindPolicy(parsePolicy(policy, 'test'), 'rl', 'GET /', 'test');
}

/** An engine with `onThreshold`, as a process has one. */
export class ToldThresholds {
  readonly events: ThresholdEvent[] = [];
  readonly warnings: string[] = [];
  readonly engine: Engine;
  private readonly layered: LayeredStore;

  /** @param clock of the fallback */
  constructor(store: RateLimitStore, clock: Clock, settings: Partial<ThresholdSettings> = {}) {
    const logger = { log: () => {}, error: () => {}, warn: (message: string) => void this.warnings.push(message) };
    const onThreshold = (event: ThresholdEvent): void => void this.events.push(event);
    const options = readLimiterOptions({ onThreshold, onDecision: () => {}, ...settings }, 'test');
    const opened = { ...storeAlone(store, 10_000), fallbackClock: clock };
    ({ engine: this.engine, layered: this.layered } = partsAlone(options, opened, logger));
  }

  charge(policy: BoundPolicy, identity: string, cost = 1, mode: ChargeMode = 'take'): PolicyCharge {
    return chargeOf(policy, identity, cost, mode);
  }

  /** Waits until all levels that were reached are told, and returns their events. */
  async told(): Promise<ThresholdEvent[]> {
    await this.layered.watches[0]?.close();
    return this.events.splice(0);
  }
}
