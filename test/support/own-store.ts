import type { Policy, RateLimitStore } from 'nestjs-floodgate';
import type { Charge, ChargeReceipt, ChargeSettlement, Verdict } from 'nestjs-floodgate/testing';
import { chargeOf, type PolicyCharge } from '../../libs/floodgate/src/charges/policy-charge.js';
import type { LimiterOptions } from '../../libs/floodgate/src/limiter/limiter-options.js';
import type { LimiterParts } from '../../libs/floodgate/src/limiter/limiter-parts.js';
import { storeAlone } from '../../libs/floodgate/src/limiter/opened-store.js';
import { readLimiterOptions } from '../../libs/floodgate/src/limiter/options-table.js';
import { partsAlone } from '../../libs/floodgate/src/limiter/parts-alone.js';
import { denialsOf } from '../../libs/floodgate/src/limiter/rooms.js';
import type { BoundPolicy } from '../../libs/floodgate/src/policy/bound-policy.js';
import { StillStore } from './still-store.js';
import { boundPolicy } from './told-thresholds.js';

export const WINDOW = { algorithm: 'fixed-window', limit: 3, window: '1h' } as const;
export const PLAIN: Policy = { ...WINDOW, name: 'plain' };
export const RESERVED: Policy = { ...WINDOW, name: 'reserved', settle: () => 1 };
export const LEASED: Policy = { name: 'leased', algorithm: 'concurrency', limit: 1, lease: '1h' };
export const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: 1 };
export const ADA = { kind: 'user', value: 'ada' };

/** A store of an application over a `MemoryStore`. It notes what it is told. */
export class OwnStore implements RateLimitStore {
  readonly supports = ['shadow', 'block', 'headroom'] as const;
  readonly inner = new StillStore();
  readonly refunded: (readonly ChargeReceipt[])[] = [];
  readonly settled: (readonly ChargeSettlement[])[] = [];
  answer: (charges: readonly Charge[]) => Verdict | Promise<Verdict> = (charges) => this.inner.consume(charges);
  refunds: () => void = () => undefined;
  settles: NonNullable<RateLimitStore['settle']> = (settlements) => this.inner.settle(settlements);

  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    return this.answer(charges);
  }
  reset(keys: readonly string[]): number {
    return this.inner.reset(keys);
  }
  refund?(receipts: readonly ChargeReceipt[]): void {
    this.refunded.push(receipts);
    this.refunds();
    this.inner.refund(receipts);
  }
  settle?(settlements: readonly ChargeSettlement[]): ReturnType<NonNullable<RateLimitStore['settle']>> {
    this.settled.push(settlements);
    return this.settles(settlements);
  }
}

interface Opened extends LimiterParts {
  readonly warnings: string[];
}

export function opened(store: RateLimitStore, given: LimiterOptions = {}, deadlineMs = 20): Opened {
  const warnings: string[] = [];
  const logger = { log: () => {}, error: () => {}, warn: (message: string) => void warnings.push(message) };
  const options = readLimiterOptions({ policies: { api: WINDOW }, ...given }, 'test');
  const own = { ...storeAlone(store, deadlineMs), denials: denialsOf(options) };
  return Object.assign(partsAlone(options, own, logger), { warnings });
}

const bound = new Map<Policy, BoundPolicy>();
export function charge(policy: Policy, cost = 1, identity = 'user:ada'): PolicyCharge {
  if (!bound.has(policy)) bound.set(policy, boundPolicy(policy));
  return chargeOf(bound.get(policy)!, identity, cost);
}
export const nextTurn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
export const gone = (): never => {
  throw new Error('gone');
};
