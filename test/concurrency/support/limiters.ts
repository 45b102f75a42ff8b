import { afterAll, beforeAll } from '@jest/globals';
import { Processes } from '../../support/processes.js';
import { RedisServer } from '../../support/redis-server.js';
import type { procedures } from '../workers/limiter.js';

export interface Limiters {
  readonly processes: Processes<typeof procedures>;
}

/** Processes with a limiter each, on a Redis of the test file that calls this. */
export function useLimiters(count: number): Limiters {
  let server: RedisServer;
  let processes: Processes<typeof procedures>;
  beforeAll(async () => {
    server = await RedisServer.start();
    processes = await Processes.start(new URL('../workers/limiter.ts', import.meta.url), count);
    await processes.all('connect', () => server.url);
  }, 60_000);
  afterAll(async () => {
    await processes?.stop();
    await server?.stop();
  });
  return {
    get processes() {
      return processes;
    },
  };
}
