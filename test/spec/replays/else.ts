import { abandonedBy, receiptsOf } from '../../../libs/floodgate/src/stores/receipt.js';
import type { Charge, ChargeReceipt } from '../../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../../support/algorithm-of.js';
import { TestClock } from '../../support/test-clock.js';
import { newKey, ORIGIN, type Place, type Replay, type Step } from './replay.js';

const LIMITS = [2, 2, 3];

export function replayElse({ open }: Place): Replay {
  const store = open(new TestClock(ORIGIN).read);
  const key = newKey('else');
  const charges = LIMITS.map((limit, i): Charge => {
    const algorithm = algorithmOf({ algorithm: 'fixed-window', limit, window: '1d' });
    return { key: `${key}:${i}`, algorithm, cost: 1, mode: 'reserve', alternative: i === 1 };
  });
  /** What is held, and what a late answer tells of, by the policy that took it. */
  const running: ChargeReceipt[][][] = [[], []];
  const awaited: ChargeReceipt[][][] = [[], []];
  return {
    async step({ does, who, outcome, numbers }: Step): Promise<Step> {
      const taken = [0, 0];
      if (does === 'ask') {
        // One turn: on Redis they are one row of a batch.
        const verdicts = await Promise.all(Array.from({ length: who }, async () => store.consume(charges)));
        for (const verdict of verdicts.filter(({ allowed }) => allowed)) {
          const receipts = receiptsOf(charges, verdict);
          const by = charges.findIndex((charge) => receipts.some(({ key: one }) => one === charge.key));
          taken[by]!++;
          if (outcome === 'well') running[by]!.push(receipts);
          if (outcome === 'late') awaited[by]!.push(abandonedBy(charges, verdict));
        }
      } else if (does === 'give') await store.refund((outcome === 'late' ? awaited : running)[who]!.pop()!);
      else if (!(await store.consume([{ ...charges[who]!, alternative: false }])).allowed) throw new Error('rejected');
      const left = await Promise.all(
        charges.map(async (charge) => store.consume([{ ...charge, cost: 0, alternative: false }])),
      );
      const told = does === 'ask' ? taken : numbers.slice(0, taken.length);
      return { does, who, outcome, numbers: [...told, ...left.map((one) => one.charges[0]!.remaining)] };
    },
  };
}
