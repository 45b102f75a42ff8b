import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Starts one application in a process of its own. `program`: the file beside this one that runs it. */
export function startServer({ program = 'server.js', platform, variant, redisUrl, keyPrefix, limit = '' }) {
  const file = fileURLToPath(new URL(program, import.meta.url));
  return startProcess(file, [platform, variant, redisUrl, keyPrefix, limit], `${platform} server (${variant})`);
}

/**
 * Starts a program that tells its port, and answers the question `cpu`, and `stats` if it has any.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {string} name of the process in messages
 */
export async function startProcess(file, args, name) {
  const child = fork(file, args);
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`The ${name} ended with ${code}`);
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
    /** Ends a process that is too busy to hear of it. */
    async kill() {
      child.kill('SIGKILL');
      await ended.catch(() => {});
    },
  };
}
