import { afterEach, beforeEach } from '@jest/globals';
import { RedisServer, type RedisServerOptions } from '../redis-server.js';
import { TcpProxy } from './tcp-proxy.js';

export interface ProxiedRedis {
  readonly server: RedisServer;
  readonly proxy: TcpProxy;
  /** Stops the server, and starts another one without a proxy. */
  readonly replaceServer: (options: RedisServerOptions) => Promise<void>;
}

/** A server and a TCP proxy before it, both new for each test of the file that calls this. */
export function useProxiedRedis(): ProxiedRedis {
  let server: RedisServer;
  let proxy: TcpProxy;
  beforeEach(async () => {
    server = await RedisServer.start();
    proxy = await TcpProxy.start(server.port);
  });
  afterEach(async () => {
    await proxy.stop();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    get proxy() {
      return proxy;
    },
    replaceServer: async (options) => {
      await server.stop();
      server = await RedisServer.start(options);
    },
  };
}
