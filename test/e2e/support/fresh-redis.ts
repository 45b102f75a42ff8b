import { afterEach, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Cluster } from 'ioredis';
import { RedisServer } from '../../support/redis-server.js';

export interface FreshRedis {
  readonly server: RedisServer;
  /** The clients that `quiet` got. */
  readonly clients: readonly (Redis | Cluster)[];
  /** A client of the test, whose errors are expected. It is disconnected after the test. */
  quiet<T extends Redis | Cluster>(client: T): T;
}

/** A server for each test, which a test may kill or configure. */
export function useFreshRedis(): FreshRedis {
  let server: RedisServer;
  const clients: (Redis | Cluster)[] = [];
  beforeEach(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    clients,
    quiet: (client) => {
      clients.push(client);
      client.on('error', () => undefined);
      // ioredis keeps the process for this long after a disconnection.
      if (client instanceof Redis) client.options.disconnectTimeout = 50;
      return client;
    },
  };
}
