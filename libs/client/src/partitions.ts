import { Partition, type Spread } from './partition.js';
import type { ClientTime } from './time.js';

/** Partitions that are kept while no call uses them. */
const MAX_PARTITIONS = 1000;

/** The partitions of one client, the least recently used first. */
export class Partitions {
  private readonly byName = new Map<string, Partition>();

  constructor(
    private readonly time: ClientTime,
    private readonly spread: Spread,
  ) {}

  get size(): number {
    return this.byName.size;
  }

  of(name: string): Partition {
    const partition = this.byName.get(name) ?? new Partition(this.time, this.spread);
    this.byName.delete(name);
    this.byName.set(name, partition);
    this.evict(name);
    return partition;
  }

  /** Forgets a partition that a call has left, if it holds nothing. */
  release(name: string): void {
    if (this.byName.get(name)?.forgettable) this.byName.delete(name);
  }

  /** Drops the oldest partition if it holds nothing, and the oldest idle one beyond the limit. Those in use are kept. */
  private evict(wanted: string): void {
    const [[oldest, partition]] = this.byName as unknown as [[string, Partition]];
    if (oldest !== wanted && partition.forgettable) this.byName.delete(oldest);
    if (this.byName.size <= MAX_PARTITIONS) return;
    for (const [name, { idle }] of this.byName) {
      if (!idle || name === wanted) continue;
      this.byName.delete(name);
      return;
    }
  }
}
