import { describe, expect, it } from '@jest/globals';
import { chargesFor, once } from '../../../../../test/support/charges-for.js';
import { unhandledRejections } from '../../../../../test/support/node-warnings.js';
import { Deadlines, StoreDeadlineError } from '../../stores/deadlines.js';
import type { ChargeReceipt, RateLimitStore, Verdict } from '../../stores/store.js';
import { traitsOf } from '../../stores/traits.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { StoreDecider } from '../../charges/decider.js';
import { withinDeadline } from './deadline.js';

const asked = chargesFor([once('policy')]);
const VERDICT: Verdict = {
  allowed: true,
  at: 1_700_000_000_000_000,
  charges: [{ allowed: true, remaining: 0, resetAfter: 0, retryAfter: 0, delay: 0 }],
};

function over(
  consume: () => unknown,
  more: Partial<RateLimitStore> = {},
  refund: (receipts: readonly ChargeReceipt[]) => void = () => undefined,
): StoreDecider {
  const store = { consume: consume as RateLimitStore['consume'], reset: () => undefined, ...more };
  return withinDeadline(store, traitsOf(store), new Deadlines(5), refund);
}

describe('the deadline of a store', () => {
  it('fails a late request, gives back what it would hold, and waits for what no request waits for', async () => {
    const answers: ((verdict: Verdict) => void)[] = [];
    const refunded: ChargeReceipt[] = [];
    const later = async (): Promise<Verdict> => new Promise((resolve) => void answers.push(resolve));
    const decider = over(later, {}, (receipts) => void refunded.push(...receipts));
    const reserving = asked.map((charge) => ({ ...charge, mode: 'reserve' as const }));
    const patient = decider.decidePatiently(asked);
    await expect(decider.decide({ charges: asked })).rejects.toThrow(StoreDeadlineError);
    await expect(decider.decide({ charges: reserving })).rejects.toThrow(StoreDeadlineError);
    for (const answer of answers) answer(VERDICT);
    await expect(patient).resolves.toEqual(VERDICT);
    const [{ key, algorithm, cost }] = asked as [PolicyCharge];
    expect(refunded).toEqual([{ key, algorithm, cost, at: VERDICT.at, resetAt: VERDICT.at }]);
  });

  it('drops what is no verdict and comes later', async () => {
    const rejections = unhandledRejections();
    const answers: ((verdict: unknown) => void)[] = [];
    const decider = over(async () => new Promise((resolve) => void answers.push(resolve)));
    await expect(decider.decide({ charges: asked })).rejects.toThrow(StoreDeadlineError);
    answers[0]!({});
    expect(await rejections()).toEqual([]);
  });

  it.each([undefined, {}, { ...VERDICT, charges: [] }, { ...VERDICT, charges: [{}] }, { ...VERDICT, charges: [null] }])(
    'fails a request that an application answers with %j',
    async (answer) => {
      expect(() => over(() => answer).decide({ charges: asked })).toThrow('its answer is no verdict');
      await expect(over(async () => answer).decide({ charges: asked })).rejects.toThrow('its answer is no verdict');
    },
  );

  it('takes nothing from an application but the verdict', () => {
    expect(over(() => ({ ...VERDICT, source: 'override', asked: [] })).decide({ charges: asked })).toEqual(VERDICT);
  });

  it('asks no store about a policy that it does not know', () => {
    const shadows = chargesFor([{ ...once('policy'), mode: 'shadow' }]);
    expect(() => over(() => VERDICT).decide({ charges: shadows })).toThrow(`the store does not know mode: 'shadow'`);
    expect(over(() => VERDICT, { supports: ['shadow'] }).decide({ charges: shadows })).toEqual(VERDICT);
  });
});
