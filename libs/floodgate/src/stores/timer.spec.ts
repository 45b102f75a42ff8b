import { describe, expect, it } from '@jest/globals';
import { processTimer } from './timer.js';

describe('the timer of the process', () => {
  it('runs a task once, and never early: timers of Node fire early by up to a millisecond', async () => {
    const waits = Array.from({ length: 200 }, (_, i) => 1 + (i * 37) / 251);
    const late = await Promise.all(
      waits.map(
        (ms) =>
          new Promise<number>((resolve) => {
            const since = performance.now();
            processTimer(ms, () => resolve(performance.now() - since - ms));
          }),
      ),
    );
    expect(Math.min(...late)).toBeGreaterThanOrEqual(-1e-6); // the rounding of the subtraction
  });

  it('runs no task that was cancelled', async () => {
    let ran = 0;
    const cancel = processTimer(1, () => void ran++);
    cancel();
    cancel();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ran).toBe(0);
  });
});
