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
});
