import { type Histogram } from 'hdr-histogram-js';
import { Redis } from 'ioredis';
import { encodedTimes, newTimes } from './times-histogram.js';

/** Long enough that the load of PINGs does not matter. */
const INTERVAL_MS = 50;

/**
 * Measures PINGs from the same process at the same time, on a connection of its own.
 *
 * A PING is the cheapest command. The time that a decision takes beyond it is the limiter's, the rest is the machine's.
 */
export class PingMeter {
  private readonly times: Histogram = newTimes();
  private readonly client: Redis;
  private readonly timer: NodeJS.Timeout;

  constructor(url: string) {
    this.client = new Redis(url);
    this.timer = setInterval(() => void this.ping(), INTERVAL_MS);
  }

  reset(): void {
    this.times.reset();
  }

  encoded(): string {
    return encodedTimes(this.times);
  }

  close(): void {
    clearInterval(this.timer);
    this.client.disconnect();
  }

  private async ping(): Promise<void> {
    const since = performance.now();
    try {
      await this.client.ping();
      this.times.recordValue(Math.round((performance.now() - since) * 1000));
    } catch {
      // The meter was closed meanwhile.
    }
  }
}
