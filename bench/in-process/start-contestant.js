import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const CONTESTANT = fileURLToPath(new URL('contestant.js', import.meta.url));

/** Starts one contestant of memory-store.js in a process of its own, which ends with the bench's scenario. */
export async function startContestant(bench, name, keys) {
  const child = fork(CONTESTANT, [name, String(keys)]);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${code}`);
  });
  ended.catch(() => {}); // only of interest to who waits for an answer
  const answer = async () => (await Promise.race([once(child, 'message'), ended]))[0];
  bench.onClose(async () => {
    if (child.connected) child.disconnect(); // which it takes as its end
    await ended.catch(() => {});
  });
  await answer();
  return {
    name,
    load(ms) {
      const sample = answer();
      child.send(ms);
      return sample;
    },
  };
}
