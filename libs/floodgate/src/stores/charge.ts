import type { Algorithm } from '../algorithms/core/algorithm.js';
import type { AnyBlockAlgorithm } from '../algorithms/block/block.js';

/**
 * `'take'` charges the cost. `'peek'` asks whether the cost would fit, and charges nothing. `'reserve'` charges the cost, and
 * the verdict has the receipt that `settle` needs.
 */
export type ChargeMode = 'take' | 'peek' | 'reserve';

/** The part of one request's charge on one policy that a store needs. */
export interface Charge {
  /** The key of the state: at most 200 bytes. The keys of one request are distinct. */
  readonly key: string;
  readonly algorithm: Algorithm;
  /** A whole number from 0. Cost 0 takes nothing, and asks whether cost 1 would fit. */
  readonly cost: number;
  /**
   * What has to stay free behind the charge, in units of cost: a whole number from 0, default 0. The charge fits where `cost` and
   * `headroom` fit together, and takes its cost alone. So it leaves a reserve to charges with less headroom.
   */
  readonly headroom?: number;
  /** Default `'take'`. */
  readonly mode?: ChargeMode;
  /** The part of the key that names the policy: charges of one policy share it. Default: the algorithm and its parameters. */
  readonly policyKey?: string;
  /** Whether all clients share the state. Default false. */
  readonly global?: boolean;
  /** Keys among which a store may split the state, to spread it over several servers. Default: one state. */
  readonly shardKeys?: readonly string[] | undefined;
  /**
   * Whether the charge is in shadow: it never rejects the request. It is made if the request is allowed and the charge fits.
   * Default false.
   */
  readonly shadow?: boolean;
  /** Whether a rejection has to tell its `shortfall`. A charge of mode `'reserve'` always asks for it. Default false. */
  readonly shortfall?: boolean;
  /**
   * Whether the charge is an alternative: it is made if the request fits none of those before it, back to the first one that is no
   * alternative. One of them has to fit. At the beginning of a request the flag means nothing. A store gets such charges only if its
   * `supports` include `'alternatives'`. Default false.
   */
  readonly alternative?: boolean;
  /** The block that the charge's rejections lead to; its key shares the hash tag of `key`. Default none. */
  readonly block?: BlockCharge | undefined;
  /** @internal In a charge that is reused: where an in-process store keeps its state. */
  entry?: StateEntry | undefined;
  /** @internal In a charge that is reused: where this process keeps the open charges of its key. */
  openKey?: StateEntry | undefined;
}

/** The entry that an in-process store keeps for a key. A charge that is reused remembers it. */
export interface StateEntry {
  readonly key: string;
  /** The store's own mark; undefined once the state is forgotten. */
  readonly home: object | undefined;
}

/** What a charge remembers before its state is looked up. */
export const UNKNOWN_ENTRY: StateEntry = { key: '', home: undefined };

/** What a rejection of a charge costs: a count of rejections, and a block once there are enough. */
export interface BlockCharge {
  readonly key: string;
  readonly algorithm: AnyBlockAlgorithm;
  /** 1; 0 where the charge's rejection does not count: that of a peek, and of a scheduled call, which asks again. */
  readonly cost: number;
  /** The charge's `shadow`. */
  readonly shadow?: boolean;
  /** @internal See `Charge.entry`. */
  entry?: StateEntry | undefined;
}

/** Whether an allowed request changes the state. */
export function takes({ cost, mode }: Pick<Charge, 'cost' | 'mode'>): boolean {
  return cost > 0 && mode !== 'peek';
}

/** Whether a charge is settled later. A block has no mode. */
export function reserves({ mode }: Pick<Charge, 'cost' | 'mode'>): boolean {
  return mode === 'reserve';
}

/** Whether a rejection of the charge tells its shortfall. A block has none. */
export function tellsShortfall({ mode, shortfall }: Pick<Charge, 'cost' | 'mode' | 'shortfall'>): boolean {
  return mode === 'reserve' || shortfall === true;
}

/** Turns a charge into a peek, which makes no block either. */
export function peekOf<C extends Charge>(charge: C): C {
  const { block } = charge;
  const peek = { ...charge, mode: 'peek', block: block === undefined ? undefined : { ...block, cost: 0 } } as const;
  return tellsShortfall(charge) ? { ...peek, shortfall: true } : peek;
}

/** Whether the charge's state is split among several keys. */
export function isSharded({ shardKeys }: Pick<Charge, 'shardKeys'>): boolean {
  return shardKeys !== undefined;
}

/** What has to fit: the cost, 1 for a charge of cost 0, and the headroom. */
export function askedCost({ cost, headroom = 0 }: Pick<Charge, 'cost' | 'headroom'>): number {
  return (cost || 1) + headroom;
}

/** Whether the cost, or 1 for a cost of 0, is larger than one request can ever take, or does not fit beside the headroom even where nothing is used. */
export function neverFits({ algorithm, cost, headroom = 0 }: Pick<Charge, 'algorithm' | 'cost' | 'headroom'>): boolean {
  const { limit, maxCost } = algorithm;
  // A log takes less than its limit at once, and a leaky bucket one more: the request that departs.
  return (cost || 1) > maxCost || (headroom > 0 && (cost || 1) + headroom > Math.max(limit, maxCost));
}

/** Whether a charge fits a level of its state. */
export function fits(charge: Pick<Charge, 'algorithm' | 'cost' | 'headroom'>, level: unknown): boolean {
  return charge.algorithm.fits(level, charge.cost || 1, charge.headroom);
}

/** How many requests of cost 1 would pass now with this headroom. */
export function remainingOf(
  { algorithm, headroom = 0 }: Pick<Charge, 'algorithm' | 'headroom'>,
  level: unknown,
): number {
  const remaining = algorithm.remaining(level);
  return headroom === 0 ? remaining : Math.max(0, remaining - headroom);
}

/** Microseconds until a charge that does not fit now does, if nothing else happens; Infinity where it never fits. */
export function waitOf(charge: Pick<Charge, 'algorithm' | 'cost' | 'headroom'>, level: unknown): number {
  return neverFits(charge) ? Infinity : charge.algorithm.retryAfter(level, askedCost(charge));
}

/** Whether two charges ask and take the same, so that one policy of a call describes both. */
export function asksAlike(
  one: Pick<Charge, 'algorithm' | 'cost' | 'headroom' | 'mode' | 'shortfall' | 'shadow' | 'alternative'>,
  other: Pick<Charge, 'algorithm' | 'cost' | 'headroom' | 'mode' | 'shortfall' | 'shadow' | 'alternative'>,
): boolean {
  if (one.algorithm !== other.algorithm || one.cost !== other.cost) return false;
  if ((one.headroom ?? 0) !== (other.headroom ?? 0) || one.shadow !== other.shadow) return false;
  if ((one.alternative ?? false) !== (other.alternative ?? false)) return false;
  return takes(one) === takes(other) && tellsShortfall(one) === tellsShortfall(other);
}

/** Whether two requests ask the same of the same policies for the same identities. */
export function sameCharges(some: readonly Charge[], others: readonly Charge[]): boolean {
  if (some === others) return true;
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) {
    const [one, other] = [some[i]!, others[i]!];
    if (one.key !== other.key || !asksAlike(one, other) || reserves(one) !== reserves(other)) return false;
    if (one.block?.algorithm !== other.block?.algorithm || one.block?.cost !== other.block?.cost) return false;
  }
  return true;
}
