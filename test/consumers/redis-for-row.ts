import { Redis } from 'ioredis';
import { RedisServer } from '../../tools/redis-server.js';
import { RedisCluster } from '../support/faults/redis-cluster.js';
import type { RedisUse } from './row.js';

/** The Redis of one row. */
export interface RedisForRow extends AsyncDisposable {
  readonly url: string;
  /** Forgets all limits. */
  empty(): Promise<void>;
}

/** Starts what a row's application connects to: nothing, a server, or a Cluster of three masters. */
export async function redisFor(use: RedisUse): Promise<RedisForRow | undefined> {
  if (use === 'none') return undefined;
  if (use !== 'cluster' && use !== 'node-redis-cluster') {
    const server = await RedisServer.start();
    return { url: server.url, empty: () => empty(server.url), [Symbol.asyncDispose]: () => server.stop() };
  }
  const cluster = await RedisCluster.start();
  const [first] = cluster.addresses as [{ host: string; port: number }];
  return {
    url: `redis://${first.host}:${first.port}`,
    empty: async () => {
      for (const { host, port } of await cluster.masters()) await empty(`redis://${host}:${port}`);
    },
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
}

async function empty(url: string): Promise<void> {
  const client = new Redis(url);
  await client.flushall();
  client.disconnect();
}
