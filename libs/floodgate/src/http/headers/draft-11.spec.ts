import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, double, integer, oneof, property, record, string } from 'fast-check';
import { anyText } from '../../../../../test/support/any-text.js';
import { policyOf } from '../../../../../test/support/arbitrary-policies.js';
import { expectHolds, expectSame } from '../../../../../test/support/expect-same.js';
import { histories } from '../../../../../test/support/property-runs.js';
import { readList } from '../../../../../test/support/structured-fields.js';
import type { Decision, PolicyDecision } from '../../policy/decision.js';
import type { Policy } from '../../policy/policy.js';
import { retryAfterSeconds } from './retry-after.js';
import { Judging } from '../../../../../test/support/judging.js';
import { draftHeaders } from './draft-11.js';
import type { Header } from './header.js';

/** The two fields as they are sent. */
function sent(decision: Decision): { policy: string; limit: string } {
  const [[first, policy], [second, limit]] = draftHeaders(decision) as [Header, Header];
  expectSame([first, second], ['RateLimit-Policy', 'RateLimit']);
  return { policy, limit };
}

const BURST: Policy = { name: 'burst', algorithm: 'token-bucket', capacity: 100, refill: '100/m' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 1000, window: '1d' };

describe('the fields of the draft', () => {
  it('list every policy, in the order of the decision', () => {
    const judging = new Judging([BURST, DAILY]);
    judging.take(49);
    expect(sent(judging.take())).toEqual({
      policy: '"burst";q=100;w=60, "daily";q=1000;w=86400',
      limit: '"burst";r=50;t=1, "daily";r=950;t=86400',
    });
  });

  it('say on a rejection when the request passes, and for the other policies nothing that ends later', () => {
    const judging = new Judging([{ ...BURST, capacity: 2, refill: '1/7s' }, DAILY]);
    judging.take();
    judging.take();
    const rejected = judging.take();
    expect([rejected.allowed, sent(rejected).limit]).toEqual([false, '"burst";r=0;t=7, "daily";r=998']);
    // The window of the day now ends before Retry-After.
    const late = new Judging([{ ...BURST, capacity: 2, refill: '1/2d' }, DAILY]);
    late.take(2);
    expect(sent(late.take()).limit).toBe('"burst";r=0;t=172800, "daily";r=998;t=86400');
  });

  it('say no time where a request never passes: waiting is no help', () => {
    const rejected = new Judging([{ ...BURST, capacity: 2, refill: '1/7s' }]).take(3);
    expect([rejected.retryAfterMs, sent(rejected).limit]).toEqual([null, '"burst";r=2']);
  });

  it('mark what a prefetch has paid as an estimate, and nothing else', () => {
    const { policies, ...decision } = new Judging([BURST, DAILY]).take(40);
    const [burst, daily] = policies as [PolicyDecision, PolicyDecision];
    const estimated = { ...burst, estimated: true } as const;
    expect(sent({ ...decision, decidedBy: 'prefetch', policies: [estimated, daily] })).toEqual({
      policy: '"burst";q=100, "daily";q=1000;w=86400',
      limit: '"burst";r=60;t=24;floodgate-estimated, "daily";r=960;t=86400',
    });
  });

  it('say a second and an estimate where open charges may be refunded', () => {
    const judging = new Judging([DAILY, { ...BURST, capacity: 1_000 }]);
    expect(sent(judging.reserve(999)).limit).toBe('"daily";r=1;t=86400, "burst";r=1;t=1');
    expect(sent(judging.reserve()).limit).toBe(
      '"daily";r=0;t=1;floodgate-estimated, "burst";r=0;t=1;floodgate-estimated',
    );
    judging.clock.now += 6_000_000;
    expect(sent(judging.reserve(10)).limit).toBe('"daily";r=0;t=1;floodgate-estimated, "burst";r=10;t=1');
    // Too much for the rest of the limit, whatever is open.
    expect(sent(judging.reserve(1_000)).limit).toBe(
      '"daily";r=0;t=1;floodgate-estimated, "burst";r=10;t=1;floodgate-estimated',
    );
    const used = new Judging([DAILY]);
    used.take(995);
    used.reserve(5);
    expect(sent(used.reserve(6)).limit).toBe('"daily";r=0;t=86400');
  });
});

const names = string({
  unit: constantFrom(...Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i))),
  minLength: 1,
  maxLength: 64,
});

describe('what a parser of RFC 9651 reads back', () => {
  const requests = array(record({ cost: integer({ min: 0, max: 3 }), waitMs: integer({ min: 0, max: 5_000 }) }), {
    minLength: 1,
    maxLength: 12,
  });

  // Of the algorithms, the fields know a concurrency alone.
  it.each(['token-bucket', 'sliding-window-counter', 'concurrency'] as const)('is the decision: %s', (name) => {
    assert(
      property(policyOf(name), policyOf('fixed-window'), names, requests, (policy, beside, called, asked) => {
        const other = called === 'beside' ? 'other' : 'beside';
        const judging = new Judging([
          { ...policy, name: called },
          { ...beside, name: other },
        ]);
        for (const { cost, waitMs } of asked) {
          judging.clock.now += waitMs * 1000;
          const decision = judging.take(cost);
          const { policy: policies, limit } = sent(decision);
          expectSame(
            readList(policies),
            decision.policies.map(({ policy: of, limit: q, algorithm }, i) => {
              const w = Math.max(1, Math.ceil(Math.round(judging.windows[i]!) / 1_000_000));
              // What runs at once has no window.
              return [of, algorithm === 'concurrency' ? { q, qu: 'concurrent-requests' } : { q, w }];
            }),
          );
          const read = readList(limit);
          expectSame(
            read.map(([of, { r }]) => [of, r]),
            decision.policies.map(({ policy: of, remaining }) => [of, remaining]),
          );
          for (const [i, [, { t }]] of read.entries())
            expectHonest(decision, decision.policies[i]!, t, judging.windows[i]!);
        }
      }),
      histories(),
    );
  });

  it('is valid whatever an application puts into a decision', () => {
    const anyNumber = oneof(double(), integer(), constantFrom(NaN, Infinity, -1, 2 ** 60));
    const anyPolicy = record({
      policy: anyText(),
      algorithm: constantFrom('token-bucket' as const),
      limit: anyNumber,
      allowed: constantFrom(true, false),
      remaining: anyNumber,
      resetAfterMs: anyNumber,
      retryAfterMs: oneof(anyNumber, constantFrom(null)),
      delayMs: anyNumber,
    });
    assert(
      property(array(anyPolicy, { minLength: 1, maxLength: 4 }), anyNumber, (policies, retryAfterMs) => {
        const decision: Decision = {
          allowed: policies.every(({ allowed }) => allowed),
          decidedBy: 'store',
          policies,
          retryAfterMs,
          delayMs: 0,
          decidedAtMs: 0,
        };
        const { policy, limit } = sent(decision);
        for (const [, { q }] of readList(policy)) expectHolds(Number(q) >= 0, () => ({ decision, policy }));
        for (const [, { r, t = 0 }] of readList(limit))
          expectHolds(Number(r) >= 0 && Number(t) >= 0, () => ({ decision, limit }));
      }),
      histories(),
    );
  });

  it.each(['token-bucket', 'leaky-bucket', 'fixed-window'] as const)(
    'is the first second at which more is available: %s',
    (name) => {
      assert(
        property(policyOf(name), requests, (policy, asked) => {
          const judging = new Judging([policy]);
          for (const { cost, waitMs } of asked) {
            judging.clock.now += waitMs * 1000;
            const decision = judging.take(cost);
            const { remaining, limit } = decision.policies[0]!;
            if (!decision.allowed || remaining === limit) continue;
            const t = Number(readList(sent(decision).limit)[0]![1].t);
            const before = t > 1 ? judging.after(t - 1).remaining : remaining;
            const after = judging.after(t).remaining;
            expectHolds(before === remaining && after > remaining, () => ({ decision, t, before, after }));
          }
        }),
        histories(),
      );
    },
  );
});

/** `t` is what the policy says, and never ends after `Retry-After`. */
function expectHonest(decision: Decision, policy: PolicyDecision, t: unknown, window: number): void {
  const { allowed, retryAfterMs, resetAfterMs } = policy;
  const latest = decision.allowed ? Infinity : retryAfterSeconds(decision.retryAfterMs ?? Infinity);
  const most = Math.ceil(Math.max(resetAfterMs / 1000, window / 1_000_000));
  const said = allowed
    ? (t === undefined && (!decision.allowed || policy.algorithm === 'concurrency')) ||
      Number(t) <= Math.min(most, latest)
    : t === (retryAfterMs === null ? undefined : retryAfterSeconds(retryAfterMs)) && Number(t ?? 0) <= latest;
  expectHolds(said, () => ({ decision, policy, t }));
}
