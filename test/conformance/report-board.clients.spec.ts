import { describe, expect, it } from '@jest/globals';
import { openRedis } from '../../libs/floodgate/src/stores/redis/clients/open-redis.js';
import { MAX_REPORTS, REPORT_TTL_MS, RedisReportBoard } from '../../libs/floodgate/src/stores/redis/report-board.js';
import { timeOf, useRedis } from '../support/redis-fixture.js';

const redis = useRedis();
const TEXTS = 'rl:{rejected}:texts';
const ENDS = 'rl:{rejected}:ends';

async function opened() {
  const { client } = await openRedis(redis.server.url, 'redis');
  await client.connect();
  const board = new RedisReportBoard(client, (part) => `rl:{rejected}:${part}`);
  return { board, [Symbol.asyncDispose]: async () => void (await client.close()) };
}

describe('RedisReportBoard', () => {
  it('keeps the last report of each process, in keys that expire with the last one', async () => {
    await using one = await opened();
    await using other = await opened();
    expect(await one.board.all()).toEqual([]);
    expect(await one.board.put({ id: 'one', text: 'first' })).toBe(true);
    await other.board.put({ id: 'other', text: '{"ü":1}' });
    await one.board.put({ id: 'one', text: 'second' });
    const all = await other.board.all();
    expect(new Map(all.map(({ id, text }) => [id, text]))).toEqual(
      new Map([
        ['one', 'second'],
        ['other', '{"ü":1}'],
      ]),
    );
    for (const key of [TEXTS, ENDS]) {
      const left = await redis.client.pttl(key);
      expect(left).toBeGreaterThan(REPORT_TTL_MS - 10_000);
      expect(left).toBeLessThanOrEqual(REPORT_TTL_MS);
    }
  });

  it('neither shows nor keeps the report of a process that has ended', async () => {
    await using one = await opened();
    await one.board.put({ id: 'gone', text: 'old' });
    await one.board.put({ id: 'here', text: 'new' });
    await redis.client.zadd(ENDS, Math.floor((await timeOf(redis.client)) / 1000) - 1, 'gone');
    expect(await one.board.all()).toEqual([{ id: 'here', text: 'new' }]);
    await one.board.put({ id: 'here', text: 'newer' });
    expect([await redis.client.hkeys(TEXTS), await redis.client.zrange(ENDS, '0', '-1')]).toEqual([['here'], ['here']]);
    await redis.client.zadd(ENDS, 0, 'here');
    await one.board.put({ id: 'here', text: 'back' });
    expect(await one.board.all()).toEqual([{ id: 'here', text: 'back' }]);
  });

  it('keeps a bounded number of reports, and refuses those of further processes', async () => {
    await using one = await opened();
    const ids = Array.from({ length: MAX_REPORTS }, (_, i) => `pod-${i}`);
    const puts = await Promise.all(ids.map((id) => one.board.put({ id, text: id })));
    expect(puts.every(Boolean)).toBe(true);
    expect(await one.board.put({ id: 'late', text: '' })).toBe(false);
    expect(await one.board.put({ id: 'pod-0', text: 'again' })).toBe(true);
    expect(await one.board.all()).toHaveLength(MAX_REPORTS);
    await redis.client.zadd(ENDS, 0, 'pod-7');
    expect(await one.board.put({ id: 'late', text: '' })).toBe(true);
    expect(await redis.client.hlen(TEXTS)).toBe(MAX_REPORTS);
  });

  it('rejects where another program has a key of another type', async () => {
    await using one = await opened();
    await redis.client.set(TEXTS, 'text');
    await expect(one.board.put({ id: 'one', text: '' })).rejects.toThrow('WRONGTYPE');
  });
});
