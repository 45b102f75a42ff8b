import { AssertionError } from 'node:assert';
import { describe, expect, it } from '@jest/globals';
import type { RateLimitStore } from 'nestjs-floodgate';
import type { Charge, Verdict } from 'nestjs-floodgate/testing';
import {
  rateLimitStoreConformance,
  type StoreSettings,
  type StoreUnderTest,
  VirtualClock,
  VirtualStore,
} from 'nestjs-floodgate/testing';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';

/** The cases that a store fails, with their errors. */
async function failures(store: StoreUnderTest): Promise<Map<string, AssertionError>> {
  const failed = new Map<string, AssertionError>();
  for (const { name, run } of rateLimitStoreConformance(store)) {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      failed.set(name, error);
    }
  }
  return failed;
}

/** A store with one mistake. */
function mistaken(change: (store: RateLimitStore) => Partial<RateLimitStore>): StoreUnderTest {
  return {
    name: 'mistaken',
    open: (settings) => {
      const store = new MemoryStore(settings);
      return {
        consume: (charges) => store.consume(charges),
        reset: (keys) => store.reset(keys),
        refund: (receipts) => store.refund(receipts),
        ...change(store),
      };
    },
  };
}

describe('the conformance suite', () => {
  it.each<[string, string, StoreUnderTest]>([
    [
      'charges of a rejected request',
      'several policies: charges all policies or none, and returns the verdict of each',
      mistaken((store) => ({
        consume: async (charges: readonly Charge[]): Promise<Verdict> => {
          const verdicts = [];
          for (const charge of charges) verdicts.push(await store.consume([charge]));
          return {
            allowed: verdicts.every(({ allowed }) => allowed),
            at: verdicts[0]!.at,
            charges: verdicts.flatMap((verdict) => verdict.charges),
          };
        },
      })),
    ],
    [
      'a clock of its own',
      'every algorithm: decides at the instant of its clock, and returns it',
      { name: 'own clock', open: ({ maxSkew }) => new MemoryStore({ maxSkew }) },
    ],
    [
      'refunds that forget the whole state',
      'refunds: token-bucket: a late refund, or one of a key that was reset, gives nothing beyond the limit',
      mistaken((store) => ({ refund: (receipts) => void store.reset(receipts.map(({ key }) => key)) })),
    ],
    [
      'alternatives that all have to fit',
      'alternatives: makes the first charge that fits, and no other one',
      mistaken((store) => ({
        supports: ['alternatives'],
        consume: (charges) => store.consume(charges.map((charge) => ({ ...charge, alternative: false }))),
      })),
    ],
    [
      'rejections that always count towards a block',
      'blocks: a charge that counts no rejections waits for a block, and leads to none',
      mistaken((store) => ({
        supports: ['block'],
        consume: (charges) =>
          store.consume(charges.map(({ block, ...one }) => ({ ...one, block: block && { ...block, cost: 1 } }))),
      })),
    ],
    [
      'no verdict',
      'every algorithm: token-bucket: a peek changes nothing',
      mistaken(() => ({ consume: () => ({ charges: [{}] }) as never })),
    ],
  ])('fails %s', async (_, name, store) => {
    expect([...(await failures(store)).keys()]).toContain(name);
  });

  it('says at which step of a table a store differs, and closes every store that it has opened', async () => {
    let open = 0;
    const failed = await failures({
      name: 'no skew',
      open: async ({ clock }) => {
        open++;
        return new MemoryStore({ clock });
      },
      close: async () => void open--,
    });
    expect(
      failed.get('fixed window: continues the later window if the clock steps back within the skew')?.message,
    ).toBe(
      'step 2 of 6: cost 1 at 9900000 microseconds, fixed-window of limit 3, window 1000 ms\n' +
        '  expected: { allowed: true, remaining: 0, resetAfter: 1100000, retryAfter: 0, delay: 0 }\n' +
        '  got:      { allowed: true, remaining: 0, resetAfter: 100000, retryAfter: 0, delay: 0 }',
    );
    expect(open).toBe(0);
  });

  it.each([
    ['alternatives, blocks, headroom and shadows', { supports: ['alternatives', 'block', 'headroom', 'shadow'] }],
    ['no refunds', { refund: undefined }],
  ] as [string, Partial<RateLimitStore>][])('is passed by a store that supports %s', async (_, supporting) => {
    expect([...(await failures(mistaken(() => supporting)))]).toEqual([]);
  });

  it('is passed by the store of the kit', async () => {
    const open = ({ clock, maxSkew }: StoreSettings): RateLimitStore => {
      const virtual = new VirtualClock(new Date(0));
      const store = new VirtualStore(virtual, { maxSkew });
      const follow = (): void => {
        const behind = clock() - virtual.nowMicroseconds;
        if (behind >= 0) virtual.advanceMicroseconds(behind);
        else virtual.stepBack(`${-behind / 1000}ms`);
      };
      return {
        consume: (charges) => (follow(), store.consume(charges)),
        reset: (keys) => store.reset(keys),
        refund: (receipts) => (follow(), store.refund(receipts)),
      };
    };
    expect([...(await failures({ name: 'virtual', open }))]).toEqual([]);
  });

  it('names what is missing', () => {
    expect(() => rateLimitStoreConformance({ name: 'none' } as StoreUnderTest)).toThrow(
      'rateLimitStoreConformance: open must be a function that opens a store, got undefined',
    );
  });
});
