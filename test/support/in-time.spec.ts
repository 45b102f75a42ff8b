import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { inTime } from './in-time.js';

const DEADLINE_MS = 100;
const SLACK_MS = 200;

/** Does not let the event loop turn, as a long garbage collection does. */
function stall(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe('inTime', () => {
  it('gives the result of the work', async () => {
    expect(await inTime(DEADLINE_MS, async () => 'answer')).toEqual({ result: 'answer', inTime: true });
  });

  it('accepts an answer at the deadline', async () => {
    const { inTime: isInTime } = await inTime(DEADLINE_MS, () => delay(DEADLINE_MS));
    expect(isInTime).toBe(true);
  });

  it('rejects an answer that waits on a timer longer than the deadline and the slack', async () => {
    // A busy machine stalls this process, too. A third more than the limit leaves room for the stalls that do not count.
    const { inTime: isInTime } = await inTime(DEADLINE_MS, () => delay((DEADLINE_MS + SLACK_MS) * 1.34));
    expect(isInTime).toBe(false);
  });

  it('rejects a late answer that also stalls', async () => {
    const { inTime: isInTime } = await inTime(DEADLINE_MS, async () => {
      stall(300);
      await delay((DEADLINE_MS + SLACK_MS) * 1.34);
    });
    expect(isInTime).toBe(false);
  });

  it.each([
    ['before', async () => (stall(500), delay(DEADLINE_MS))],
    ['after', async () => (await delay(DEADLINE_MS), stall(500))],
  ])('does not count a stall %s the timer of the deadline', async (_when, work) => {
    const { inTime: isInTime } = await inTime(DEADLINE_MS, work);
    expect(isInTime).toBe(true);
  });

  it('does not count stalls all along', async () => {
    const { inTime: isInTime } = await inTime(DEADLINE_MS, async () => {
      for (let i = 0; i < 10; i++) {
        stall(60);
        await delay(5);
      }
    });
    expect(isInTime).toBe(true);
  });
});
