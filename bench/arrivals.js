import { Worker } from 'node:worker_threads';

/**
 * Requests that arrive at random instants (a Poisson process), however many are under way. A thread of its own sends them: the
 * event loop meets each in a callback of its own in its poll phase, as it meets the requests of many connections.
 *
 * @param {object} bench
 * @returns {(options: { rate: number, ms: number, handle: (i: number) => Promise<unknown> }) => Promise<number>} handles the
 *   arrivals of `ms`, `rate` a second, and returns how many there were
 */
export function openArrivals(bench) {
  const worker = new Worker(new URL('./arrivals.worker.js', import.meta.url));
  bench.onClose(() => worker.terminate());
  return async ({ rate, ms, handle }) => {
    const handled = [];
    let failure;
    const failed = (error) => (failure ??= error);
    await new Promise((resolve, reject) => {
      const arrive = (last) => {
        if (last) resolve(worker.off('message', arrive).off('error', reject));
        else handled.push(handle(handled.length).catch(failed));
      };
      worker.on('message', arrive).on('error', reject);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage({ rate, ms });
    });
    await Promise.all(handled);
    if (failure !== undefined) throw failure;
    return handled.length;
  };
}
