// Told { rate, ms }, sends `false` for each request, at random instants, and `true` in the end.
import { parentPort } from 'node:worker_threads';

/** Nobody wakes the waiting thread: it waits until its time is over, where a timer knows milliseconds only. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

parentPort.on('message', ({ rate, ms }) => {
  const start = performance.now();
  const next = () => (-Math.log(1 - Math.random()) * 1000) / rate;
  for (let at = next(); at < ms; at += next()) {
    const wait = start + at - performance.now();
    if (wait > 0) Atomics.wait(NEVER, 0, 0, wait);
    tell(false);
  }
  tell(true);
});

function tell(last) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort.postMessage(last);
}
