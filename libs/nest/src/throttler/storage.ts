import { Injectable } from '@nestjs/common';
import {
  type Decision,
  identityTag,
  LimiterUnavailableError,
  MemoryStore,
  type PolicyDecision,
  RateLimitConfigError,
  type RateLimitStore,
} from 'floodgate';
import type { BoundPolicy } from 'floodgate/http';
import type { Answer, ChargeMode, CountedCharge, PolicyCharge } from 'floodgate/internal';
import {
  attempt,
  chargeOf,
  isPromise,
  LimiterParts,
  partsAlone,
  readLimiterOptions,
  storeAlone,
} from 'floodgate/internal-boot';
import { HITS_ALGORITHM, StoragePolicies, type ThrottlerPolicies } from './storage-policies.js';
import { RateLimitLogger } from '../handlers/logger.js';

/** What a throttler counted for one request. */
export interface ThrottlerStorageRecord {
  /** Hits that count, this one included; of a rejected request the limit and one more. */
  totalHits: number;
  /** Whole seconds, rounded up, until the period ends that began with the first hit. */
  timeToExpire: number;
  /** Whether the request is rejected. */
  isBlocked: boolean;
  /** Whole seconds, rounded up, until a rejected client can pass again; 0 when it passes. */
  timeToBlockExpire: number;
  /** Whether the hit was not counted, because the store was unavailable and `onStoreFailure` is `'open'`. */
  uncounted?: boolean;
}

/** Counts a hit, and says what that means. Times are milliseconds. */
export interface ThrottlerStorage {
  increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord>;
}

/** The token of the storage: `getStorageToken()`. */
export const ThrottlerStorage = Symbol('nestjs-floodgate: ThrottlerStorage');

/**
 * Counts hits with Floodgate's engine, in Redis or in the process, and answers as the storage of @nestjs/throttler 6 does: each
 * hit counts for its `ttl`; the one that passes the limit blocks the client for `blockDuration`; what comes meanwhile counts for
 * nothing; after the block the client starts afresh.
 *
 * `ThrottlerModule` makes it; without a module it counts in the process, or in a given store.
 *
 * @example new ThrottlerGuard([{ limit: 10, ttl: 60_000 }], new ThrottlerStorageService(), new Reflector())
 */
@Injectable()
export class ThrottlerStorageService implements ThrottlerStorage {
  private readonly parts: LimiterParts;
  private readonly policies: StoragePolicies;

  /** @param store where hits are kept; default a `MemoryStore` */
  constructor(store?: RateLimitStore);
  /** @internal */
  constructor(parts: LimiterParts);
  constructor(given: RateLimitStore | LimiterParts = new MemoryStore()) {
    this.parts = given instanceof LimiterParts ? given : partsOver(given);
    this.policies = new StoragePolicies(this.parts.keyPrefix);
  }

  /**
   * Counts a hit under a key.
   *
   * @param ttl the time that the hit counts: milliseconds, from 1
   * @param limit hits that pass: a whole number from 0
   * @param blockDuration milliseconds; 0: no block
   * @throws {RateLimitConfigError} when a number is wrong
   * @throws {LimiterUnavailableError} when the store fails and `onStoreFailure` is `'closed'`
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerStorageRecord> {
    const policies = this.policies.of(throttlerName, limit, ttl, blockDuration);
    const tag = identityTag({ kind: 'throttler', value: key });
    const { hits, block, period } = policies;
    const charges: PolicyCharge[] = [];
    if (hits !== undefined) charges.push(this.charge(hits, tag));
    if (block !== undefined) charges.push(this.charge(block, tag, 'peek'));
    charges.push(this.charge(period, tag, 'peek'));
    // Not awaited without need: in the process a hit and what follows from it are one step.
    const answer = hits === undefined ? this.decideNone(policies, charges) : this.parts.engine.decision(charges);
    const decision = isPromise(answer) ? await answer : answer;
    const found = decision.policies;
    if (found.length === 0)
      return { totalHits: 0, timeToExpire: inSeconds(ttl), isBlocked: false, timeToBlockExpire: 0, uncounted: true };

    const elapsing = found.at(-1)!.resetAfterMs;
    const timeToExpire = inSeconds(elapsing === 0 ? ttl : elapsing);
    if (elapsing === 0) await this.keep(period, tag);
    if (decision.allowed && hits !== undefined) {
      return { totalHits: limit - found[0]!.remaining, timeToExpire, isBlocked: false, timeToBlockExpire: 0 };
    }
    const blockedMs = await this.blockedMs(policies, decision, tag, blockDuration);
    const timeToBlockExpire = blockedMs === undefined ? timeToExpire : inSeconds(blockedMs);
    return { totalHits: limit + 1, timeToExpire, isBlocked: true, timeToBlockExpire };
  }

  /** @throws {RateLimitConfigError} always: the hits are in the engine's store */
  get storage(): never {
    throw new RateLimitConfigError(
      'ThrottlerStorageService.storage',
      'does not exist in nestjs-floodgate: hits are kept in a store of Floodgate. Call increment, or give a store of your own as `store`',
      'FG_CONFIGURATION',
    );
  }

  /**
   * Milliseconds for which a rejected client stays rejected. Begins a block if there is none.
   *
   * @returns undefined when nothing that the store holds rejects the client: `limit: 0` without a block
   */
  private async blockedMs(
    { hits, block, endsEarly }: ThrottlerPolicies,
    { policies }: Decision,
    tag: string,
    blockDuration: number,
  ): Promise<number | undefined> {
    if (block === undefined) return hits === undefined ? undefined : policies[0]!.retryAfterMs!;
    const blocked = policies.find(({ policy }) => policy === block.name)!;
    if (!blocked.allowed) return blocked.retryAfterMs!;
    const begun = await this.keep(block, tag);
    // Another request was faster.
    if (begun?.allowed === false) return begun.retryAfterMs ?? blockDuration;
    // After the block the client starts afresh. Where the block is as long as the hits count, they expire by themselves.
    if (begun !== undefined && endsEarly && hits !== undefined) await this.forget(this.charge(hits, tag).key);
    return blockDuration;
  }

  /**
   * Decides a request to a throttler with `limit: 0`. No policy has such a limit, and the charges are peeks, which metrics leave
   * out. So the rejection is counted here.
   */
  private decideNone({ none }: ThrottlerPolicies, charges: readonly PolicyCharge[]): Answer<Decision> {
    const { engine, monitor } = this.parts;
    const since = monitor.begin();
    const counted: readonly CountedCharge[] = [{ policy: none, mode: 'take' }, ...charges];
    const decided = (decision: Decision): Decision => {
      const { decidedBy } = decision;
      const seen = decidedBy === 'open' ? decision : rejection(none.name, decision);
      monitor.decided(counted, seen, decidedBy, undefined, since);
      return decision;
    };
    const failed = (error: unknown): never => {
      if (error instanceof LimiterUnavailableError) monitor.closed(counted, error.retryAfterMs, undefined, since);
      throw error;
    };
    return attempt(() => engine.decision(charges), decided, failed);
  }

  /** Writes an instant. The request is decided already, so a store that fails now changes nothing about it. */
  private async keep(policy: BoundPolicy, tag: string): Promise<Decision | undefined> {
    try {
      const kept = this.parts.unobserved.decision([this.charge(policy, tag)]);
      return isPromise(kept) ? await kept : kept;
    } catch {
      return undefined;
    }
  }

  /** Hits that stay because the store failed expire by themselves: until then the client may pass less, never more. */
  private async forget(key: string): Promise<void> {
    await this.parts.unobserved.reset([key]).catch(() => undefined);
  }

  private charge(policy: BoundPolicy, tag: string, mode: ChargeMode = 'take'): PolicyCharge {
    return chargeOf(policy, tag, 1, mode);
  }
}

function partsOver(store: RateLimitStore): LimiterParts {
  const options = readLimiterOptions({}, 'ThrottlerStorageService');
  return partsAlone(options, storeAlone(store, options.deadlineMs), new RateLimitLogger());
}

/** The part of a decision that a throttler with `limit: 0` adds. */
function rejection(policy: string, decision: Decision): Decision {
  const own: PolicyDecision = {
    policy,
    algorithm: HITS_ALGORITHM,
    limit: 0,
    allowed: false,
    remaining: 0,
    resetAfterMs: 0,
    retryAfterMs: null,
    delayMs: 0,
  };
  return { ...decision, allowed: false, policies: [own, ...decision.policies], retryAfterMs: null, delayMs: 0 };
}

function inSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}
