import { FixedWindow } from '../../../algorithms/fixed-window/fixed-window.js';
import type { Deadlines } from '../../deadlines.js';
import { RateLimitStoreError } from '../../store.js';
import { Batch } from '../batch/batch.js';
import type { ConnectionWatchdog } from './connection-watchdog.js';
import { isTrouble } from './redis-failure.js';
import type { Script } from '../batch/script.js';

/** A probe needs all that a decision needs, always writes, and leaves a key for one second. */
export const PROBE = new FixedWindow(1_000_000_000, 1_000_000);

/** Asks Redis for a decision on a key of its own: the breaker's question whether Redis is available. */
export class Probe {
  /** @param keyOf the key of the probe with a number, under the key prefix: the number chooses its Cluster slot */
  constructor(
    private readonly script: Script,
    private readonly deadlines: Deadlines | undefined,
    readonly keyOf: (number: number) => string,
  ) {}

  /** Resolves when Redis can decide, whatever it decided. Tells the watchdog when the deadline was missed. */
  async ask(key: string, watchdog: ConnectionWatchdog | undefined): Promise<void> {
    const batch = new Batch();
    batch.add({
      charges: [{ key, algorithm: PROBE, cost: 1 }],
      resolve: () => undefined,
      reject: () => undefined,
      next: undefined,
    });
    const answer = this.script.decide(batch);
    try {
      await (this.deadlines?.within(answer) ?? answer);
    } catch (error) {
      if (error instanceof RateLimitStoreError) watchdog?.missedDeadline();
      if (isTrouble(error as Error)) throw error;
    }
  }
}
