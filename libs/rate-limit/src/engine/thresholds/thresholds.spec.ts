import { describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../../../test/support/test-clock.js';
import { boundPolicy, ToldThresholds } from '../../../../../test/support/told-thresholds.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import type { Charge, RateLimitStore, Verdict } from '../../stores/store.js';

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;
const QUOTA = boundPolicy({ algorithm: 'fixed-window', limit: 4, window: '1d', thresholds: [0.5, 1] });

/** A store that answers with promises, and whose marks can fail. */
class MarkedStore implements RateLimitStore {
  readonly supports = ['headroom'] as const;
  marksFail = false;
  readonly marks: string[] = [];
  private readonly inner: MemoryStore;

  constructor(clock: TestClock) {
    this.inner = new MemoryStore({ clock: clock.read });
  }

  async consume(charges: readonly Charge[]): Promise<Verdict> {
    if (charges[0]!.key.includes(':threshold:')) {
      this.marks.push(charges[0]!.key);
      if (this.marksFail) throw new Error('no answer');
    }
    return this.inner.consume(charges);
  }

  async reset(keys: readonly string[]): Promise<void> {
    this.inner.reset(keys);
  }

  settle(...args: Parameters<MemoryStore['settle']>) {
    return this.inner.settle(...args);
  }
}

function open() {
  const clock = new TestClock(19_900 * DAY);
  const store = new MarkedStore(clock);
  const pods = [1, 2].map(() => new ToldThresholds(store, clock.read));
  const take = (pod: number, cost = 1) => pods[pod]!.engine.decide([pods[pod]!.charge(QUOTA, 'user:ada', cost)]);
  return { clock, store, pods, take };
}

describe('Thresholds', () => {
  it('charge a mark where a level is reached, and nothing elsewhere', async () => {
    const { store, pods, take } = open();
    await take(0);
    await pods[0]!.told();
    expect(store.marks).toHaveLength(0);
    await take(1);
    expect((await pods[1]!.told()).map(({ level }) => level)).toEqual([0.5]);
    expect(store.marks).toHaveLength(1);
    for (const key of store.marks) expect(Buffer.byteLength(key)).toBeLessThanOrEqual(200);
  });

  it('are told without a mark where it fails, once in the process, and the log says so', async () => {
    const { store, pods } = open();
    const [pod] = pods;
    store.marksFail = true;
    for (let i = 0; i < 3; i++) {
      const reservation = await pod!.engine.reserve([pod!.charge(QUOTA, 'user:ada', 2, 'reserve')]);
      await reservation.cancel();
      expect((await pod!.told()).map(({ level }) => level)).toEqual(i === 0 ? [0.5] : []);
    }
    expect(store.marks).toHaveLength(1);
    expect(pod!.warnings).toEqual([expect.stringContaining('The store could not mark a threshold: no answer')]);
  });

  it('are not asked of the store again, once this process knows that they were told', async () => {
    const { clock, store, pods } = open();
    const again = async (pod: number): Promise<number> => {
      const reservation = await pods[pod]!.engine.reserve([pods[pod]!.charge(QUOTA, 'user:ada', 2, 'reserve')]);
      await reservation.cancel();
      return (await pods[pod]!.told()).length;
    };
    expect(await again(0)).toBe(1);
    for (let i = 0; i < 3; i++) expect(await again(1)).toBe(0);
    for (let i = 0; i < 3; i++) expect(await again(0)).toBe(0);
    expect(store.marks).toHaveLength(2); // one by each process
    clock.now += DAY;
    expect(await again(1)).toBe(1);
  });

  it('of a peek, a cost of 0 and a rejection are none', async () => {
    const { pods, take } = open();
    const [pod] = pods;
    await take(0, 4);
    expect(await pod!.told()).toHaveLength(2);
    await take(0, 0);
    await take(0, 1);
    await pod!.engine.decide([pod!.charge(QUOTA, 'user:bob', 4, 'peek')]);
    expect(await pod!.told()).toEqual([]);
  });

  it('are parts of the whole limit for each class of priority, and told once for all classes', async () => {
    const { pods } = open();
    const [pod] = pods;
    const priorities = { critical: 1, background: 0.5 };
    const classed = (priority: string) =>
      boundPolicy({
        algorithm: 'fixed-window',
        limit: 10,
        window: '1d',
        thresholds: [0.2, 0.5, 0.8, 1],
        overdraft: 5,
        priorities,
        priority,
      });
    const [critical, background] = [classed('critical'), classed('background')];
    const told = async () => (await pod!.told()).map(({ level, remaining }) => [level, remaining]);
    for (let i = 0; i < 8; i++) await pod!.engine.decide([pod!.charge(background, 'user:ada')]);
    expect(await told()).toEqual([
      [0.2, 3],
      [0.5, 0],
    ]);
    for (let i = 0; i < 3; i++) await pod!.engine.decide([pod!.charge(critical, 'user:ada')]);
    expect(await told()).toEqual([[0.8, 2]]);
    const reservation = await pod!.engine.reserve([pod!.charge(background, 'user:bob', 1, 'reserve')]);
    await reservation.settle(8);
    expect(await told()).toEqual([
      [0.2, 0],
      [0.5, 0],
      [0.8, 0],
    ]);
  });

  it('of a settlement whose store does not answer are not told, and the settlement is made', async () => {
    const { pods, store } = open();
    const [pod] = pods;
    const reservation = await pod!.engine.reserve([pod!.charge(QUOTA, 'user:ada', 1, 'reserve')]);
    store.consume = () => Promise.reject(new Error('gone'));
    expect(await reservation.settle(4)).toMatchObject({ settledBy: 'store', policies: [{ charged: 3 }] });
    expect(await pod!.told()).toEqual([]);
    expect(pod!.warnings).toEqual([expect.stringContaining('The store could not look at a threshold: gone')]);
  });
});
