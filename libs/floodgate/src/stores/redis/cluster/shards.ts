import type { Algorithm } from '../../../algorithms/core/algorithm.js';
import type { Denials } from '../../denials.js';
import { shortfallOfAny } from '../../shortfall.js';
import { type Charge, RateLimitStoreError } from '../../store.js';
import type { ShardSpread } from './shard-spread.js';
import type { CrossSlotRequest, SlotAnswer, SlotClient } from './slot-client.js';

/** The shards of one policy. */
interface Split {
  readonly keys: readonly string[];
  /** The algorithm of each shard. */
  readonly algorithm: Algorithm;
  /**
   * The shard that requests of this turn ask first. Each process begins at a random shard, so that all shards are used equally.
   */
  first: number;
  /** The turn of the last request. */
  turn: number | undefined;
}

/**
 * Asks the shards of a charge whose state is split among several keys, one after the other, until one allows the request.
 *
 * All requests of a turn begin at the same shard and go on to the next one together. So they form one row of one call, instead
 * of scattering over all shards. The next turn begins at the next shard.
 */
export class Shards {
  /** Splits by the list of keys, which the charges of one policy share. */
  private readonly splits = new WeakMap<readonly string[], Split>();

  constructor(
    private readonly slots: SlotClient,
    private readonly denials: Denials | undefined,
    /** The number of the batcher's turn. Undefined: each request has a turn of its own. */
    private readonly turn: (() => number) | undefined,
    private readonly spread: ShardSpread | undefined,
  ) {}

  /** Fails only when no shard answers: the shards that answer hold the rest of the limit, and reject for all. */
  async ask(charge: Charge, request: CrossSlotRequest): Promise<SlotAnswer> {
    const { keys, algorithm, first } = this.splitOf(charge);
    const rejected: SlotAnswer[] = [];
    let failure: unknown;
    for (let i = 0; i < keys.length && !request.late; i++) {
      const charges = [{ ...charge, key: keys[(first + i) % keys.length]!, algorithm, shardKeys: undefined }];
      const denial = this.denials?.findSent(charges);
      try {
        const answer = denial ? { charges, ...denial } : await this.slots.ask(charges, request);
        // A request that only has a shadow is always allowed.
        if (answer.verdict.charges[0]!.allowed) return ofWhole(answer, charge);
        rejected.push(answer);
      } catch (error) {
        failure = error;
      }
    }
    if (rejected.length === 0) throw failure ?? new RateLimitStoreError('the answer came too late');
    return rejectedByAll(rejected);
  }

  private splitOf({ algorithm, shardKeys: keys = [] }: Charge): Readonly<Split> {
    const turn = this.turn?.();
    let split = this.splits.get(keys);
    if (split === undefined) {
      const first = Math.floor(Math.random() * keys.length);
      this.splits.set(keys, (split = { keys, algorithm: algorithm.shares.of(keys.length, 1), first, turn }));
      this.spread?.check(keys);
    } else if (turn === undefined || split.turn !== turn) {
      split.turn = turn;
      split.first = (split.first + 1) % keys.length;
      this.spread?.check(keys);
    }
    return split;
  }
}

/** The answer of one shard for the whole policy: as if the other shards had as much left. */
export function ofWhole({ charges, verdict, found }: SlotAnswer, { algorithm, shardKeys }: Charge): SlotAnswer {
  const [shard] = verdict.charges;
  const remaining = Math.min(algorithm.limit, shard!.remaining * shardKeys!.length);
  return { charges, found, verdict: { ...verdict, charges: [{ ...shard!, remaining }] } };
}

/** The sum of `remaining`, the longest reset, and the soonest retry of all shards. */
function rejectedByAll(rejected: readonly SlotAnswer[]): SlotAnswer {
  const shards = rejected.map(({ verdict }) => verdict.charges[0]!);
  const soonest = shards.reduce((one, other) => (other.retryAfter < one.retryAfter ? other : one));
  const remaining = shards.reduce((sum, one) => sum + one.remaining, 0);
  const resetAfter = shards.reduce((longest, one) => Math.max(longest, one.resetAfter), 0);
  const shortfall = shortfallOfAny(shards.map((one) => one.shortfall));
  const { charges, verdict } = rejected[shards.indexOf(soonest)]!;
  const sentAt = rejected.reduce((first, one) => Math.min(first, one.sentAt ?? Infinity), Infinity);
  return {
    charges,
    verdict: { ...verdict, charges: [{ ...soonest, remaining, resetAfter, ...(shortfall && { shortfall }) }] },
    ...(sentAt < Infinity && { sentAt }),
  };
}
