import type { Scheduler } from './scheduler.js';
import type { VirtualGlobals } from './virtual-globals.js';

/**
 * Runs all events until `end`, in microseconds. After each of them, what `process.nextTick` was given runs, then the
 * microtasks, and both again until there are none, as in Node.js after each callback.
 */
export async function drive(scheduler: Scheduler, globals: VirtualGlobals, end: number): Promise<void> {
  const nextTick = process.nextTick.bind(process);
  globals.install();
  try {
    await new Promise<void>((resolve, reject) => {
      const step = (): void => {
        try {
          if (!globals.runTicks() && !scheduler.runNext(end)) {
            resolve();
            return;
          }
          globals.runTicks();
        } catch (error) {
          reject(error);
          return;
        }
        // The real process runs all microtasks, those that they queue included, before its next tick.
        queueMicrotask(() => nextTick(step));
      };
      step();
    });
  } finally {
    globals.uninstall();
  }
}
