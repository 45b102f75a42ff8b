import { withinLoopTime } from '../../loop-timer.js';
import type { NodeRedis } from './node-redis.js';
import { NodeRedisLink } from './node-redis-link.js';

/**
 * Asks a server on a connection that lives no longer than the answer.
 *
 * @param ms milliseconds that connection and answer may take
 * @throws {Error} when the server does not answer in time
 */
export async function askOnce<T>(
  ms: number,
  make: (link: NodeRedisLink) => NodeRedis,
  ask: (link: NodeRedisLink) => Promise<T>,
): Promise<T> {
  let answer: T | undefined;
  const link = new NodeRedisLink({
    make,
    connected: () => undefined,
    ended: () => undefined,
    prepare: async (opened) => {
      answer = await ask(opened);
    },
  });
  try {
    await withinLoopTime(ms, link.open());
    return answer as T;
  } finally {
    link.destroy(new Error('the connection was closed'));
  }
}
