import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import type { RateLimitModuleOptions, StoreStateChange } from 'nestjs-floodgate';
import { RedisServer, type RedisServerOptions } from '../redis-server.js';
import { Pod } from './pod.js';
import { TcpProxy } from './tcp-proxy.js';

export interface OneRedis {
  readonly server: RedisServer;
  /** A proxy before the server, new for each test. */
  readonly proxy: TcpProxy;
  /** A connection to the server that no fault of the proxy disturbs. */
  readonly admin: Redis;
  /** What the pods of the test reported of their store. */
  readonly changes: StoreStateChange[];
  /** Starts a pod on the server, which closes after the test. */
  readonly start: (options?: Partial<RateLimitModuleOptions>) => Promise<Pod>;
}

/** A server for the file that calls this. Before each test it runs and is empty. */
export function useOneRedis(options: RedisServerOptions = {}): OneRedis {
  let server: RedisServer;
  let proxy: TcpProxy;
  let admin: Redis;
  const changes: StoreStateChange[] = [];
  const pods: Pod[] = [];
  beforeAll(async () => {
    server = await RedisServer.start(options);
    admin = new Redis(server.url, { retryStrategy: () => 20, enableReadyCheck: false });
    admin.on('error', () => undefined); // tests kill the server
  });
  beforeEach(async () => {
    if (!server.isRunning) await server.restart();
    await admin.flushall();
    proxy = await TcpProxy.start(server.port);
    changes.length = 0;
  });
  afterEach(async () => {
    if (server.isRunning) server.resume();
    for (const pod of pods.splice(0)) await pod.app.close();
    await proxy.stop();
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    get proxy() {
      return proxy;
    },
    get admin() {
      return admin;
    },
    changes,
    start: async (more) => {
      const onStoreStateChange = (change: StoreStateChange): void => void changes.push(change);
      const pod = await Pod.start({ redis: server.url, onStoreStateChange, ...more });
      pods.push(pod);
      return pod;
    },
  };
}
