import { describe, expect, it } from '@jest/globals';
import type { LimitReport } from '../../floodgate/src/util/responses/read-response.js';
import { Partition } from './partition.js';
import { Partitions } from './partitions.js';
import { VirtualTime } from '../test-support/virtual-time.js';

const SPREAD = { jitter: 0, random: () => 0 };
const left = (remaining: number, moreAfterMs?: number): LimitReport => ({
  statements: [{ limit: 'a', remaining, ...(moreAfterMs !== undefined && { moreAfterMs }) }],
});

function setUp() {
  const time = new VirtualTime();
  const partition = new Partition(time, SPREAD);
  const leave = () => partition.tryLeave()!;
  return { time, partition, leave };
}

describe('a partition', () => {
  it('counts the smaller of two concurrent statements, and the later of two in a row', () => {
    const { partition, leave } = setUp();
    const [first, second] = [leave(), leave()];
    partition.settle(first, left(3));
    partition.settle(second, left(9)); // it left before the first one was answered
    const third = leave();
    expect([partition.tryLeave(), partition.tryLeave(), partition.tryLeave()].map(Boolean)).toEqual([
      true,
      true,
      false,
    ]);
    partition.settle(third, left(7)); // it left after both
    const more = Array.from({ length: 9 }, () => partition.tryLeave());
    expect(more.filter(Boolean)).toHaveLength(5); // 7, without the two that are on their way
  });

  it('widens step by step after a rejection by a server that says nothing of its limits', async () => {
    const { time, partition, leave } = setUp();
    partition.settle(leave(), { statements: [], retryAfterMs: 500 });
    expect(partition.tryLeave()).toBeUndefined();
    await time.advance(500);
    for (const width of [1, 2, 4, 8, 16, 32]) {
      const round = Array.from({ length: 100 }, () => partition.tryLeave()).filter((permit) => permit !== undefined);
      expect(round).toHaveLength(width);
      for (const permit of round) partition.settle(permit, { statements: [] });
    }
    expect(Array.from({ length: 100 }, () => partition.tryLeave()).every(Boolean)).toBe(true);
  });

  it('forgets the limit that it learned first, where a server names ever new ones', () => {
    const { partition, leave } = setUp();
    partition.settle(leave(), { statements: [{ limit: 'first', remaining: 1 }] });
    partition.settle(leave(), { statements: [{ limit: 'second', remaining: 2 }] });
    const tell = (i: number): void =>
      partition.settle(leave(), { statements: [{ limit: `new ${i}`, remaining: 1000 }] });
    const width = (): number => {
      const permits = Array.from({ length: 10 }, () => partition.tryLeave()).filter((permit) => permit !== undefined);
      for (const permit of permits) partition.settle(permit, undefined);
      return permits.length;
    };
    for (let i = 0; i < 62; i++) tell(i);
    expect(width()).toBe(1);
    tell(62);
    expect(width()).toBe(2);
    tell(63);
    expect(width()).toBe(10);
  });
});

describe('the partitions of a client', () => {
  it('are 1,000 at most, those in use aside', () => {
    const time = new VirtualTime();
    const partitions = new Partitions(time, SPREAD);
    const inUse = partitions.of('in use');
    inUse.tryLeave();
    for (let i = 0; i < 5000; i++) {
      const partition = partitions.of(`/rides/${i}`);
      partition.settle(partition.tryLeave()!, left(0, 3_600_000));
      partitions.release(`/rides/${i}`);
    }
    expect(partitions.size).toBe(1000);
    expect(partitions.of('in use')).toBe(inUse);
  });
});
