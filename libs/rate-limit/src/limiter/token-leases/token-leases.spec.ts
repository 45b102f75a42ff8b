import { describe, expect, it } from '@jest/globals';
import { bindPolicy } from '../../policy/bound-policy.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import { chargeOf } from '../policy-charge.js';
import { TokenLeases } from './token-leases.js';

describe('a store of the application that leases tokens at once', () => {
  it('is not asked for the rest of a request that these tokens pay', () => {
    const lease = { for: '100ms', max: 20 };
    const parsed = parsePolicy(
      { name: 'p', algorithm: 'token-bucket', capacity: 1_000, refill: 1, lease },
      'here',
      'p',
    );
    const charges = [chargeOf(bindPolicy(parsed, 'rl', 'app', 'here'), 'rl', 'user:ada', 1, 'take')];
    const store = new MemoryStore({ clock: () => 1_700_000_000_000_000 });
    const leases = new TokenLeases({
      ask: (asked) => store.consume(asked),
      refund: (receipts) => store.refund(receipts),
      denied: () => undefined,
      monotonicMs: () => 1_000,
      timer: () => () => undefined,
    });
    const verdicts = Array.from({ length: 30 }, () => leases.pay(charges) ?? leases.consume(charges));
    expect(verdicts).toEqual(verdicts.map(() => expect.objectContaining({ allowed: true })));
    expect(leases.counts.leased).toBeGreaterThan(2);
  });
});
