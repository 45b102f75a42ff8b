import { describe, expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../../test/support/algorithm-of.js';
import { judge } from '../../judge.js';
import { slotOf } from '../../slots.js';
import { type Charge, type ChargeReceipt, RateLimitStoreError } from '../../store.js';
import type { PendingRequest } from '../batch/pending-request.js';
import { CrossSlot } from './cross-slot.js';
import { RedisUnavailableError } from '../connection/redis-failure.js';

const NOW = 1_700_000_000_000_000;
const algorithm = algorithmOf({ algorithm: 'fixed-window', limit: 4, window: '1h' });
const SHARDS = ['{p/0}', '{p/1}'];
const sharded: Charge = { key: '{p}', algorithm, cost: 1, global: true, shardKeys: SHARDS };
const unavailable = (): Error => new RedisUnavailableError('Redis node 10.0.0.7:6379 is unavailable: paused', false);

/** Slots of which some fail; the others have nothing taken. */
class Slots {
  readonly asked: string[] = [];
  readonly refunded: ChargeReceipt[] = [];
  readonly crossSlot: CrossSlot;

  constructor(failures: Readonly<Record<string, () => Error>>) {
    const add = ({ charges, resolve, reject }: PendingRequest): void => {
      const [{ key }] = charges as [Charge];
      const failure = failures[key]?.();
      if (failure !== undefined) return reject(failure);
      this.asked.push(key);
      const found = charges.map((charge) => ({ charge, level: charge.algorithm.read(undefined, NOW, 0) }));
      const before = found.map((one) => ({ ...one }));
      resolve(judge(found, NOW), before);
    };
    this.crossSlot = new CrossSlot({
      routing: { slotOf },
      add,
      refund: (receipts) => this.refunded.push(...receipts),
      deadlines: undefined,
      denials: undefined,
    });
  }
}

describe('a cross-slot request whose slots are unavailable', () => {
  it('fails as not asked when the nodes of all shards are unavailable', async () => {
    const slots = new Slots({ '{p/0}': unavailable, '{p/1}': unavailable });
    await expect(slots.crossSlot.decide([sharded])).rejects.toMatchObject({ wasAsked: false });
  });

  it('fails as asked when one shard was asked and failed, in whichever order', async () => {
    const slots = new Slots({ '{p/0}': unavailable, '{p/1}': () => new RateLimitStoreError('no answer') });
    for (let i = 0; i < 2; i++) {
      const error = await slots.crossSlot.decide([sharded]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(RateLimitStoreError);
      expect(error).not.toMatchObject({ wasAsked: false });
    }
  });

  it('fails as asked, and refunds, when another slot was charged before', async () => {
    const mine: Charge = { key: '{ada}', algorithm, cost: 1 };
    const slots = new Slots({ '{p/0}': unavailable, '{p/1}': unavailable });
    await expect(slots.crossSlot.decide([sharded, mine])).rejects.toMatchObject({ wasAsked: true });
    expect(slots.asked).toEqual(['{ada}']);
    expect(slots.refunded).toMatchObject([{ key: '{ada}', cost: 1 }]);
  });

  it('is decided by the shards that are available', async () => {
    const slots = new Slots({ '{p/0}': unavailable });
    expect(await slots.crossSlot.decide([sharded])).toMatchObject({ allowed: true, charges: [{ remaining: 2 }] });
    expect(slots.asked).toEqual(['{p/1}']);
  });
});
