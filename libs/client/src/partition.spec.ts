import { describe, expect, it } from '@jest/globals';
import type { LimitReport } from '../../rate-limit/src/util/responses/read-response.js';
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
  it('lets everybody leave while nothing is known', () => {
    const { partition } = setUp();
    for (let i = 0; i < 1000; i++) expect(partition.tryLeave()).toBeDefined();
  });

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

  it('lets one leave at a time when nothing remains and no time is told', () => {
    const { partition, leave } = setUp();
    partition.settle(leave(), left(0));
    const only = leave();
    expect(partition.tryLeave()).toBeUndefined();
    partition.settle(only, undefined);
    expect(partition.tryLeave()).toBeDefined();
  });

  it('lets the calls behind a request without an answer leave after ten seconds', async () => {
    const { time, partition, leave } = setUp();
    partition.settle(leave(), left(0));
    leave();
    const turn = { order: 1, deadline: 60_000, signal: undefined };
    expect(await time.run(partition.wait(turn))).toBeDefined();
    expect(time.now()).toBe(10_000);
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

  it('keeps the order of the calls, also of those that come back', async () => {
    const { time, partition, leave } = setUp();
    partition.settle(leave(), { statements: [], retryAfterMs: 500 });
    const gone: number[] = [];
    const waits = [3, 1, 2, 0].map(async (order) => {
      const permit = await partition.wait({ order, deadline: 60_000, signal: undefined });
      gone.push(order);
      partition.settle(permit!, { statements: [] });
    });
    await time.run(Promise.all(waits));
    expect(gone).toEqual([0, 1, 2, 3]);
    expect(time.timers).toBe(0);
  });

  it('lets a rejection shorten a wait that fields have begun, and fields never one of a rejection', () => {
    const { partition, leave } = setUp();
    const [first, second, third] = [leave(), leave(), leave()];
    partition.settle(first, left(0, 1000));
    expect(partition.waitMs).toBe(1000);
    partition.settle(second, { statements: [], retryAfterMs: 100 });
    expect(partition.waitMs).toBe(100);
    partition.settle(third, left(0, 50));
    expect(partition.waitMs).toBe(100);
  });

  it('forgets what it knows a minute later', async () => {
    const { time, partition, leave } = setUp();
    partition.settle(leave(), left(5));
    expect(partition.forgettable).toBe(false);
    await time.advance(60_000);
    expect(partition.forgettable).toBe(true);
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

  it('are forgotten at once where nothing was learned', () => {
    const partitions = new Partitions(new VirtualTime(), SPREAD);
    for (let i = 0; i < 5000; i++) {
      const partition = partitions.of(`/rides/${i}`);
      partition.settle(partition.tryLeave()!, { statements: [] });
      partitions.release(`/rides/${i}`);
    }
    expect(partitions.size).toBe(0);
  });
});
