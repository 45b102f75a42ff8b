import { describe, expect, it } from '@jest/globals';
import { drive } from './drive.js';
import { EventLoop } from './event-loop.js';
import { Random } from './random.js';
import { Scheduler } from './scheduler.js';
import { VirtualGlobals } from './virtual-globals.js';

/** A pod without anything in it. */
function process1() {
  const scheduler = new Scheduler();
  const globals = new VirtualGlobals(scheduler, new Random(1));
  const loop = new EventLoop(scheduler, globals.enter);
  const log: string[] = [];
  const note = (text: string): void => void log.push(`${text} at ${scheduler.now + loop.elapsed}`);
  return { scheduler, globals, loop, log, note, run: (end = 10_000_000) => drive(scheduler, globals, end) };
}

describe('an event loop', () => {
  it('runs callbacks, microtasks, ticks and immediates in the order of Node.js', async () => {
    const order: string[] = [];
    const work = (): void => {
      setImmediate(() => {
        order.push('immediate');
        process.nextTick(() => order.push('tick of the immediate'));
        void Promise.resolve().then(() => order.push('microtask of the immediate'));
      });
      setImmediate(() => order.push('second immediate'));
      process.nextTick(() => {
        order.push('tick');
        void Promise.resolve().then(() => order.push('microtask of the tick'));
      });
      void Promise.resolve().then(() => {
        order.push('microtask');
        process.nextTick(() => order.push('tick of the microtask'));
      });
      order.push('callback');
    };
    const { loop, run } = process1();
    loop.post(work);
    await run();
    const simulated = order.splice(0);
    // Runs the callback in the real event loop.
    await new Promise<void>((resolve) => {
      setTimeout(() => {
        work();
        setTimeout(resolve, 20);
      }, 1);
    });
    expect(simulated).toEqual(order);
    expect(simulated).toHaveLength(9);
  });

  it('lets what arrives during a callback wait for the next turn, after the immediates', async () => {
    const { scheduler, loop, log, note, run } = process1();
    scheduler.at(1000, () => loop.post(() => setImmediate(() => note('immediate')), 100));
    scheduler.at(1050, () => loop.post(() => note('second'), 100));
    scheduler.at(1060, () => loop.post(() => note('third'), 100));
    await run();
    expect(log).toEqual(['immediate at 1100', 'second at 1200', 'third at 1300']);
    expect(loop.cpu).toBe(300);
  });

  it('runs nothing of a pod that was killed', async () => {
    const { scheduler, loop, log, note, run } = process1();
    loop.post(() => {
      setTimeout(() => note('timer'), 5);
      setTimeout(() => note('early timer'), 1);
    });
    scheduler.at(2000, () => loop.kill());
    scheduler.at(3000, () => loop.post(() => note('posted')));
    await run();
    expect(log).toEqual(['early timer at 1000']);
  });

  it('refuses clocks and timers outside of pods: they would belong to nobody', async () => {
    const { scheduler, run } = process1();
    scheduler.at(1, () => void setTimeout(() => undefined, 1));
    await expect(run()).rejects.toThrow('only the code of a pod may read clocks and set timers');
  });
});
