import { describe, expect, it } from '@jest/globals';
import {
  ADA,
  charge,
  gone,
  LEASED,
  nextTurn,
  opened,
  OwnStore,
  PLAIN,
  RESERVED,
} from '../../../../test/support/own-store.js';
import { unhandledRejections } from '../../../../test/support/node-warnings.js';
import { Execution } from '../charges/execution.js';
import { StoreUnavailableError } from '../stores/unavailable.js';

describe('a store that fails', () => {
  it('is counted if it was asked, is asked once in an execution, and its reason is kept', async () => {
    const store = new OwnStore();
    const { engine, monitor, layered, warnings } = opened(store);
    const failuresOf = async (error: unknown): Promise<number> => {
      store.answer = () => {
        throw error;
      };
      const before = monitor.stats().storeFailures;
      expect((await engine.decision([charge(PLAIN)])).decidedBy).toBe('local');
      return monitor.stats().storeFailures - before;
    };
    expect(await failuresOf('text')).toBe(1);
    expect(warnings.join()).toMatch(`The store could not decide: 'text'`);
    expect(await failuresOf(new StoreUnavailableError('away', false))).toBe(0);
    expect(await failuresOf(new StoreUnavailableError('away', true))).toBe(1);
    const cause = new Error('gone');
    expect(layered.failure(cause)).toMatchObject({ message: 'the store failed: gone', cause });
    const execution = new Execution();
    let asked = 0;
    store.answer = () => (asked++ === 0 ? gone() : new Promise(() => {}));
    for (let i = 0; i < 3; i++) await engine.decide([charge(PLAIN)], undefined, execution);
    expect([asked, execution.missedDeadline?.message]).toEqual([2, 'the store gave no answer within 20 ms']);
    expect(monitor.stats().storeFailures).toBe(4); // the last decision asked nothing
  });

  it('gives back a place that it grants late, and keeps a late token', async () => {
    const store = new OwnStore();
    const { engine } = opened(store);
    let release = (): void => undefined;
    store.answer = async (charges) => {
      await new Promise<void>((resolve) => (release = resolve));
      return store.inner.consume(charges);
    };
    for (const policy of [PLAIN, LEASED]) {
      expect((await engine.decision([charge(policy)])).decidedBy).toBe('local');
      release();
    }
    for (let i = 0; i < 1000 && store.refunded.length === 0; i++) await nextTurn();
    expect(store.refunded.flat().map(({ key }) => key)).toEqual([charge(LEASED).key]);
  });

  const later = (store: OwnStore) => (store.answer = async (charges) => store.inner.consume(charges));
  it.each<[string, (store: OwnStore) => void, string, string[]]>([
    ['answers at once', () => undefined, 'decided by store', ['peek', 'take', 'take']],
    ['throws', (store) => (store.answer = gone), 'decided by local', []],
    ['answers later', later, 'RateLimiter.consumeSync: the store answers later', ['peek']],
    ['fails later', (store) => (store.answer = async () => gone()), 'the store answers later', []],
  ])('or %s is asked once whether consumeSync can decide, with nothing to charge', async (_, change, told, modes) => {
    const rejections = unhandledRejections();
    const store = new OwnStore();
    change(store);
    const { limiter } = opened(store);
    for (let i = 0; i < 2; i++) {
      let outcome: string;
      try {
        outcome = `decided by ${limiter.consumeSync('api', ADA).decidedBy}`;
      } catch (error) {
        outcome = (error as Error).message;
      }
      expect(outcome).toMatch(told);
    }
    expect(store.inner.asked.flat().map(({ mode }) => mode)).toEqual(modes);
    expect(await rejections()).toEqual([]);
  });

  it('keeps no reset waiting that it never answers', async () => {
    const store = Object.assign(new OwnStore(), { reset: async () => new Promise<void>(() => {}) });
    await expect(opened(store).engine.reset(['key'])).rejects.toThrow('the store gave no answer within 20 ms');
  });
});

describe('a settlement', () => {
  /** What is settled of a reservation of 3, and how many fit afterwards. */
  const settledAt = async (store: OwnStore, finalCost: number): Promise<unknown[]> => {
    const { engine } = opened(store);
    const reservation = await engine.reserve([charge(RESERVED, 3)]);
    const { settledBy, policies, error } = await reservation.settle(finalCost);
    const [{ refunded }] = policies as [(typeof policies)[number]];
    const left = store.inner.consume([charge(RESERVED, 0)]).charges[0]!.remaining;
    return [settledBy, refunded, left, (error as Error | undefined)?.message];
  };
  const without = (...methods: ('settle' | 'refund')[]): OwnStore =>
    Object.assign(new OwnStore(), Object.fromEntries(methods.map((method) => [method, undefined])));

  it.each<[string, () => OwnStore, number, unknown[]]>([
    ['at a lower cost', () => new OwnStore(), 1, ['store', 2, 2, undefined]],
    ['at the same cost', () => new OwnStore(), 3, ['store', 0, 0, undefined]],
    ['of a store that only refunds', () => without('settle'), 1, ['store', null, 2, undefined]],
    ['of a store that gives nothing back', () => without('settle', 'refund'), 1, ['none', 0, 0, undefined]],
  ])('%s', async (_, store, finalCost, expected) => {
    expect(await settledAt(store(), finalCost)).toEqual(expected);
  });

  it.each<[string, OwnStore['settles'], string]>([
    ['throws', gone, 'the store failed: gone'],
    ['answers with too little', () => [], 'the store failed: its answer is no settlement'],
    ['answers with nothing', () => undefined as never, 'the store failed: its answer is no settlement'],
    ['never answers', async () => new Promise(() => {}), 'the store gave no answer within 20 ms'],
  ])('of a store that %s has its error', async (_, settles, message) => {
    const store = Object.assign(new OwnStore(), { settles });
    expect(await settledAt(store, 1)).toEqual(['none', 0, 0, message]);
  });

  it('at a higher cost needs a store that settles', async () => {
    const { engine } = opened(without('settle'));
    const reservation = await engine.reserve([charge(RESERVED, 2)]);
    await expect(async () => reservation.settle(3)).rejects.toThrow(
      '2 was reserved, and 3 cannot be charged: the store has no method settle',
    );
  });
});
