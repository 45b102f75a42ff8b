import { Controller, Get } from '@nestjs/common';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { FROM_HEADERS, left, limited, limitHeaders } from '../../support/http-app.js';
import { until } from '../../support/faults/until.js';
import { RedisServer } from '../../support/redis-server.js';

const LIMIT_MS = 20_000;

@Controller()
class Routes {
  @Get()
  @RateLimit({ algorithm: 'token-bucket', capacity: 1000, refill: '1/h' })
  get(): void {}
}

let server: RedisServer;
let other: RedisServer;
let admin: Redis;
let client: Redis;

beforeEach(async () => {
  [server, other] = await Promise.all([RedisServer.start(), RedisServer.start()]);
  admin = new Redis(server.url);
  client = new Redis(server.url);
  client.on('error', () => undefined);
  await client.ping();
});

afterEach(async () => {
  admin.disconnect();
  client.disconnect();
  await Promise.all([server.stop(), other.stop()]);
});

/** The largest id of the server's ordinary connections. A later connection has a larger id. */
async function newestConnection(): Promise<number> {
  const list = String(await admin.call('CLIENT', 'LIST', 'TYPE', 'normal'));
  return Math.max(...Array.from(list.matchAll(/^id=(\d+)/gm), ([, id]) => Number(id)));
}

it.each<[string, () => RateLimitModuleOptions]>([
  ['a URL', () => ({ redis: server.url, onStoreFailure: 'open' })],
  ['a ready client', () => ({ redis: client, onStoreFailure: 'open' })],
])(
  'the module reconnects after its Redis was demoted, because the address may lead to a new primary: %s',
  async (_, options) => {
    await using app = await limited('Express', Routes, { ...options(), identity: FROM_HEADERS, deadline: '2s' });
    const decides = async (): Promise<boolean> => limitHeaders(await app.as('ada', '/')).length > 0;
    expect(left(await app.as('ada', '/'))).toBe(999);
    const before = await newestConnection();
    await admin.replicaof(other.host, other.port);
    await until('requests pass without a decision of Redis', LIMIT_MS, async () => !(await decides()));
    await until('the module has opened another connection', LIMIT_MS, async () => {
      expect((await app.as('ada', '/')).status).toBe(200);
      return (await newestConnection()) > before;
    });
    await admin.replicaof('NO', 'ONE');
    await until('Redis decides again', LIMIT_MS, decides);
    expect(app.logs.of('error')).toEqual([]);
  },
);
