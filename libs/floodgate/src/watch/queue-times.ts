import type { PolicyDecision } from '../policy/decision.js';
import { Histogram, type Tap } from './histogram.js';
import { MAX_TALLIES, OTHER } from './policy-tallies.js';
import type { QueueTimeStats } from './stats.js';

interface Queue {
  readonly labels: Omit<QueueTimeStats, 'waitedMs'>;
  readonly times: Histogram;
}

/** How long requests waited for a leaky bucket's slot, by policy, class and result. */
export class QueueTimes {
  private readonly queues = new Map<string, Queue>();
  private readonly taps = new Set<Tap>();

  /** @param bounds ascending, in milliseconds */
  constructor(private readonly bounds: readonly number[]) {}

  observe(waitedMs: number, { policy, priority }: PolicyDecision, result: QueueTimeStats['result']): void {
    const { labels, times } = this.queueOf(policy, priority, result);
    times.observe(waitedMs);
    for (const tap of this.taps) tap(waitedMs, labels);
  }

  /** Tells `tap` of every value from now on. Returns a function that ends that. */
  tap(tap: Tap): () => void {
    this.taps.add(tap);
    return () => this.taps.delete(tap);
  }

  snapshot(): QueueTimeStats[] {
    return Array.from(this.queues.values(), ({ labels, times }) => ({ ...labels, waitedMs: times.snapshot() }));
  }

  private queueOf(policy: string, priority: string | undefined, result: QueueTimeStats['result']): Queue {
    const id = JSON.stringify([policy, priority, result]);
    const known = this.queues.get(id);
    if (known !== undefined) return known;
    // Policy functions can make up any number of names.
    if (this.queues.size >= MAX_TALLIES && policy !== OTHER) return this.queueOf(OTHER, undefined, result);
    const labels = priority === undefined ? { policy, result } : { policy, priority, result };
    const queue = { labels, times: new Histogram(this.bounds) };
    this.queues.set(id, queue);
    return queue;
  }
}
