import { describe, expect, it } from '@jest/globals';
import { bindPolicy } from '../../../policy/bound-policy.js';
import { parsePolicy } from '../../../policy/parse-policy.js';
import { MemoryStore } from '../../../stores/memory/memory.store.js';
import type { Policy } from '../../../policy/policy.js';
import type { Charge, Verdict } from '../../../stores/store.js';
import { chargeOf, type PolicyCharge } from '../../policy-charge.js';
import { PrefetchLayer } from './prefetch.js';

const stillStore = (): MemoryStore => new MemoryStore({ clock: () => 1_700_000_000_000_000 });

function charged(policy: Policy): PolicyCharge[] {
  const parsed = parsePolicy({ ...policy, name: 'p' }, 'here', 'p');
  return [chargeOf(bindPolicy(parsed, 'rl', 'app', 'here'), 'rl', 'user:ada', 1, 'take')];
}

describe('a store of the application that answers a prefetch at once', () => {
  it('is not asked for the rest of a request that these tokens pay', () => {
    const prefetch = { for: '100ms', max: 20 };
    const charges = charged({ algorithm: 'token-bucket', capacity: 1_000, refill: 1, prefetch });
    const store = stillStore();
    const prefetches = new PrefetchLayer({
      inner: { decide: (asked) => store.consume(asked) },
      store: { decide: (asked) => store.consume(asked) },
      refund: (receipts) => store.refund(receipts),
      monotonicMs: () => 1_000,
      timer: () => () => undefined,
    });
    const verdicts = Array.from({ length: 30 }, () => prefetches.decide(charges));
    expect(verdicts).toEqual(verdicts.map(() => expect.objectContaining({ allowed: true })));
    expect(prefetches.counts.prefetched).toBeGreaterThan(2);
  });
});

describe('a policy whose numbers change', () => {
  it('gets back at once what a call that was under way has prefetched by the old ones', async () => {
    const REQUESTS = 10;
    const policy = {
      algorithm: 'fixed-window',
      limit: 1_000,
      window: '300d',
      prefetch: { for: '10s', max: 20 },
    } as const;
    const before = charged(policy);
    const after = charged({ ...policy, limit: 500 });
    const store = stillStore();
    const underWay: (() => void)[] = [];
    const later = (asked: readonly Charge[]): Promise<Verdict> =>
      new Promise((resolve) => void underWay.push(() => resolve(store.consume(asked))));
    const prefetches = new PrefetchLayer({
      inner: { decide: (asked) => store.consume(asked) },
      store: { decide: (asked) => (asked[0]!.cost > 1 ? later(asked) : store.consume(asked)) },
      refund: (receipts) => store.refund(receipts),
      monotonicMs: () => 1_000,
      timer: () => () => undefined,
    });
    const consume = async (charges: readonly PolicyCharge[]): Promise<void> =>
      expect(await prefetches.decide(charges)).toMatchObject({ allowed: true });
    for (let i = 0; i < REQUESTS; i++) await consume(before);
    await consume(after);
    expect(underWay).toHaveLength(1);
    underWay[0]!();
    await new Promise(setImmediate);
    const { prefetched, returned } = prefetches.counts;
    expect([prefetched > 0, returned]).toEqual([true, prefetched]);
    const peeked = store.consume(after.map((charge) => ({ ...charge, cost: 0 })));
    expect(peeked.charges[0]!.remaining).toBe(500 - REQUESTS - 1);
  });
});
