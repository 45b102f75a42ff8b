import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit } from 'nestjs-floodgate';
import { FROM_HEADERS, limited } from '../support/http-app.js';
import { nodeWarnings } from '../support/node-warnings.js';
import { useRedis } from '../support/redis-fixture.js';
import { StillStore } from '../support/still-store.js';
import { RateLimitRuntime } from '../support/runtime.js';

const PER_KEY: Policy = { name: 'key', algorithm: 'token-bucket', capacity: 5, refill: '1/m', by: 'api-key' };
const ADDRESS: Policy = { name: 'address', algorithm: 'token-bucket', capacity: 20, refill: '1/h', by: 'ip' };
/** One slot a day. The 25th is later than the longest timer of Node, and a longer timer fires at once. */
const DAYS: Policy = { name: 'days', algorithm: 'leaky-bucket', capacity: 40, drain: '1/d' };

const entered: string[] = [];

@Controller()
class Routes {
  @Get('paired')
  @RateLimit(PER_KEY, ADDRESS)
  paired(): void {}

  @Get('days')
  @RateLimit(DAYS)
  days(): void {
    entered.push('days');
  }
}

describe('a flood', () => {
  const redis = useRedis();

  it.each([
    ['in the middleware', '/paired', { middleware: [ADDRESS] }],
    ['beside the key policy in the middleware', '/nothing', { middleware: [PER_KEY, ADDRESS] }],
  ])('of invented API keys leaves only the keys in Redis that an ip policy admits: %s', async (_, path, options) => {
    const redisOptions = { redis: redis.server.url, deadline: '10s' } as const;
    await using app = await limited('Express', Routes, { identity: FROM_HEADERS, ...redisOptions, ...options });
    const invented = Array.from({ length: 200 }, (__, i) => ({ headers: { 'X-API-Key': `invented-${i}` } }));
    const statuses = await Promise.all(invented.map(async (key) => (await app.send(path, key)).status));
    expect(statuses.filter((status) => status !== 429)).toHaveLength(20);
    const keys = await redis.client.keys('*');
    expect(keys.filter((key) => key.includes('{key:'))).toHaveLength(20);
    // The address has at most two keys: in the middleware and on the route.
    expect(keys.filter((key) => !key.includes('{key:')).length).toBeLessThanOrEqual(2);
    for (const key of keys) expect(await redis.client.pttl(key)).toBeGreaterThan(0);
    // One token refills in a minute. Its key expires within a second after that.
    for (const key of keys.filter((one) => one.includes('{key:')))
      expect(await redis.client.pttl(key)).toBeLessThanOrEqual(61_000);
  });

  it('of requests keeps waiting for slots that are weeks away, beyond the longest timer of Node', async () => {
    entered.length = 0;
    const warned = nodeWarnings();
    await using app = await limited('Express', Routes, { store: new StillStore() });
    const { waitingRoom } = app.app.get(RateLimitRuntime).parts;
    const client = connect(app.port, '127.0.0.1');
    await once(client, 'connect');
    client.write('GET /days HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(36));
    while (waitingRoom.size < 35) await delay(1);
    await delay(20); // a timer that is too long fires after one millisecond
    expect([waitingRoom.size, entered]).toEqual([35, ['days']]);
    client.destroy();
    while (waitingRoom.places > 0) await delay(1);
    expect(await warned()).toEqual([]);
  });
});
