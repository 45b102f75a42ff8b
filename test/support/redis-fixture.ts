import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import { OutsideRedis } from './outside-redis.js';
import { loadPrograms } from './programs.js';
import { RedisServer } from './redis-server.js';

/** A server that may have been started outside of the tests. */
export type AnyRedisServer = Pick<RedisServer, 'url' | 'restart' | 'stop'>;

export interface RedisFixture {
  readonly server: AnyRedisServer;
  readonly client: Redis;
}

/**
 * A server for the `describe` or the file that calls this, emptied before every test. `TEST_REDIS_URL` names another one.
 *
 * @param args of a server that this starts
 * @param options `installed`: the server is the installed one in any case
 */
export function useRedis(args: readonly string[] = [], { installed = false } = {}): RedisFixture {
  let server: AnyRedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = (installed ? undefined : OutsideRedis.given(args)) ?? (await RedisServer.start({ args }));
    client = new Redis(server.url);
    await loadPrograms(client);
  });
  beforeEach(async () => {
    await client.flushdb();
  });
  afterAll(async () => {
    await client.quit();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
  };
}

/** The server's clock in microseconds. */
export async function timeOf(client: Redis): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1_000_000 + Number(microseconds);
}

/**
 * When a key expires, in milliseconds of the server's clock: -1 without an expiry, -2 without a key. PEXPIRETIME would tell, but
 * Redis 6.2 has no such command.
 */
export async function expiryOf(client: Redis, key: string): Promise<number> {
  const millisecond = ([seconds, microseconds]: readonly [string, string]): number =>
    Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  for (;;) {
    const [[, before], [, left], [, after]] = (await client.pipeline().time().pttl(key).time().exec()) as [
      [null, [string, string]],
      [null, number],
      [null, [string, string]],
    ];
    if (left < 0) return left;
    if (millisecond(before) === millisecond(after)) return millisecond(before) + left;
  }
}

/** A DUMP of a list depends on its history, its entries do not. */
const CONTENTS = `
local contents = {}
for i, key in ipairs(KEYS) do
  local type = redis.call('TYPE', key).ok
  local content = ''
  if type == 'string' then content = redis.call('GET', key)
  elseif type == 'list' then content = table.concat(redis.call('LRANGE', key, 0, -1), ',')
  elseif type ~= 'none' then content = redis.call('DUMP', key) end
  contents[i] = type .. ' ' .. content
end
return contents
`;

/** The content of each key without its time to live: equal answers mean equal states. */
export async function contentsOf(client: Redis, keys: readonly string[]): Promise<string[]> {
  const contents = (await client.callBuffer('EVAL', CONTENTS, keys.length, ...keys)) as Buffer[];
  return contents.map((content) => content.toString('latin1'));
}
