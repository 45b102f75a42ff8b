import { withHelp } from '../../../util/error-codes.js';
import type { Logger } from '../../../util/logger.js';
import type { ClusterMap } from '../clients/client.js';
import type { ClusterRouting } from './routing.js';

/** Warns where the nodes of a Cluster have unequal numbers of a policy's shards, once for each distribution. */
export class ShardSpread {
  /** The version of the client's slot map. */
  private version = 0;
  /** The slot map that was seen last and the last warning, by the list of keys. */
  private readonly seen = new WeakMap<readonly string[], { version: number; warning: string | undefined }>();

  constructor(
    private readonly cluster: Pick<ClusterMap, 'masterOf' | 'masters' | 'onSlots'>,
    private readonly routing: Pick<ClusterRouting, 'slotOf'>,
    private readonly logger: Pick<Logger, 'log' | 'warn'>,
  ) {
    cluster.onSlots(() => this.version++);
  }

  /** Looks at the shards of a policy, unless it has done so since the client has read the slot map. */
  check(keys: readonly string[]): void {
    let seen = this.seen.get(keys);
    if (seen === undefined) this.seen.set(keys, (seen = { version: -1, warning: undefined }));
    if (seen.version === this.version) return;
    seen.version = this.version;
    const warning = this.warningOf(keys);
    if (warning === seen.warning) return;
    seen.warning = warning;
    if (warning !== undefined) this.logger.warn(withHelp(warning, 'FG_SHARDS_UNEVEN'));
    else this.logger.log(`The ${keys.length} shards of ${keys[0]} and its like lie evenly again`);
  }

  private warningOf(keys: readonly string[]): string | undefined {
    const { cluster } = this;
    const masters = cluster.masters();
    const counts = new Map<string, number>();
    for (const key of keys) {
      const master = cluster.masterOf(this.routing.slotOf(key));
      if (master !== undefined) counts.set(master, (counts.get(master) ?? 0) + 1);
    }
    const even = Math.ceil(keys.length / masters.size);
    const [hottest, most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one), ['', 0]);
    if (most <= even) return undefined;
    return (
      `Of the ${keys.length} shards of ${keys[0]} and its like, ${most} lie on node ${hottest} of ${masters.size}, where ${even} ` +
      `would be even: give each master an equal range of slots that follow each other, and the client no keyPrefix with braces`
    );
  }
}
