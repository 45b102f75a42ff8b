import { Histogram } from './histogram.js';
import { QueueTimes } from './queue-times.js';

/** The bounds of each histogram, in milliseconds or requests. */
export const BOUNDS = {
  /** They are closest below 1 ms, because a nearby store answers within that. */
  latency: [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 25, 50, 100, 250, 500, 1000],
  batches: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
  /** The bounds of `aspnetcore.rate_limiting.request.time_in_queue`. */
  queue: [5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000],
} as const satisfies Record<string, readonly number[]>;

/** What a monitor measures, and not only counts. */
export class Measured {
  readonly latency = new Histogram(BOUNDS.latency);
  readonly batches = new Histogram(BOUNDS.batches);
  readonly queue = new QueueTimes(BOUNDS.queue);
}
