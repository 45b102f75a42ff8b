import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SERVER = fileURLToPath(new URL('server.js', import.meta.url));

/** Starts one application in a process of its own. */
export async function startServer({ platform, variant, redisUrl, keyPrefix, limit = '' }) {
  const child = fork(SERVER, [platform, variant, redisUrl, keyPrefix, limit]);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The ${platform} server (${variant}) ended with ${code}`);
  });
  ended.catch(() => {}); // only of interest to who waits for an answer
  const answer = async () => (await Promise.race([once(child, 'message'), ended]))[0];
  const ask = (question) => {
    const reply = answer();
    child.send(question);
    return reply;
  };
  const { port } = await answer();
  return {
    port,
    /** Microseconds of CPU that the application has used so far. */
    async cpu() {
      const { user, system } = await ask('cpu');
      return user + system;
    },
    /** What a limited application has counted so far. */
    stats: () => ask('stats'),
    async stop() {
      if (child.connected) child.disconnect(); // which it takes as its end
      await ended.catch(() => {});
    },
  };
}
