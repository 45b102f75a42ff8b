import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { MemoryOverrideLog } from '../../libs/floodgate/src/stores/memory/override-log.js';
import type { OverrideBounds, OverrideLog } from '../../libs/floodgate/src/stores/override-log.js';
import { givenIoredis } from '../../libs/floodgate/src/stores/redis/clients/ioredis-client.js';
import { RedisOverrideLog } from '../../libs/floodgate/src/stores/redis/override-log.js';
import { until } from '../support/faults/until.js';
import { useRedis } from '../support/redis-fixture.js';

const redis = useRedis();
const BOUNDS: OverrideBounds = { overrides: 3, changes: 4, notices: 3 };

const LOGS: [string, () => OverrideLog][] = [
  ['MemoryOverrideLog', () => new MemoryOverrideLog(() => Date.now() * 1000, BOUNDS)],
  [
    'RedisOverrideLog',
    () => {
      const prefix = randomUUID();
      return new RedisOverrideLog(
        { client: givenIoredis(redis.client) },
        (part) => `${prefix}:{overrides}:${part}`,
        BOUNDS,
      );
    },
  ],
];

describe.each(LOGS)('%s', (_name, open) => {
  const write = (id: string, ifVersion?: number) => ({ id, body: `body of ${id}\nwith lines`, ifVersion });

  it('keeps so many overrides and no more, until one is removed or has ended', async () => {
    const log = open();
    for (const id of ['a', 'b', 'c']) expect(await log.set(write(id), undefined)).toMatchObject({ outcome: 'changed' });
    expect(await log.set(write('d'), undefined)).toEqual({ outcome: 'full', count: 3 });
    expect(await log.set(write('a'), undefined)).toMatchObject({ outcome: 'changed' }); // it is one of them
    await log.set(write('c'), 1);
    await until('its end', 10_000, async () => (await log.get('c')) === undefined);
    expect(await log.set(write('d'), undefined)).toMatchObject({ outcome: 'changed' });
    expect(await log.set(write('e'), undefined)).toEqual({ outcome: 'full', count: 3 });
    expect(await log.remove(write('b'))).toMatchObject({ outcome: 'changed' });
    expect(await log.set(write('e'), undefined)).toMatchObject({ outcome: 'changed' });
    const { records } = await log.page(0, 10);
    expect(records.map(({ body }) => body[8])).toEqual(['a', 'd', 'e']);
  });

  it('tells the changes since a version, or that they are not known', async () => {
    const log = open();
    expect(await log.poll('', '0')).toMatchObject({ version: '0', records: [], reload: true });
    expect(await log.poll('0', '0')).toMatchObject({ version: '0', records: [], reload: false });
    await log.set(write('a'), undefined);
    const { version } = await log.poll('0', '0');
    expect(await log.poll('0', '0')).toMatchObject({ reload: true, records: [] });
    expect(await log.poll(version, '0')).toMatchObject({ reload: false, records: [] });
    await log.set(write('b'), 10_000);
    await log.remove(write('a'));
    const { records, reload } = await log.poll(version, '0');
    expect(reload).toBe(false);
    expect(records.map(({ removed, body }) => [removed, body])).toEqual([
      [false, 'body of b\nwith lines'],
      [true, 'body of a\nwith lines'],
    ]);
    expect(records[0]!.endsAtMs).toBe(records[0]!.setAtMs + 10_000);
    expect(await log.poll(String(Number(version) - 1), '0')).toMatchObject({ reload: true });
    for (let i = 0; i < 4; i++) await log.set(write('b'), undefined);
    expect(await log.poll(version, '0')).toMatchObject({ reload: true, records: [] }); // more changes than it keeps
  });

  it('tells the last changes, and no more than it keeps', async () => {
    const log = open();
    for (const id of ['a', 'b', 'c', 'a', 'b', 'c']) await log.set(write(id), undefined);
    const { records } = await log.history(undefined, 10);
    expect(records.map(({ body }) => body[8])).toEqual(['c', 'b', 'a', 'c']);
    const { records: next } = await log.history(records[1]!.version, 1);
    expect(next).toEqual([records[2]]);
  });

  it('tells notices to all that ask, from the last one on that they have heard', async () => {
    const log = open();
    expect(await log.poll('0', '')).toMatchObject({ heard: '0', notices: [] });
    const [a, b] = [await log.tell('a'), await log.tell('b')];
    expect(Number(b)).toBeGreaterThan(Number(a));
    expect(await log.poll('0', '0')).toMatchObject({ heard: b, notices: ['a', 'b'], records: [], reload: false });
    expect(await log.poll('0', a)).toMatchObject({ heard: b, notices: ['b'] });
    expect(await log.poll('0', b)).toMatchObject({ heard: b, notices: [] });
    expect(await log.poll('0', '')).toMatchObject({ heard: b, notices: undefined }); // a new one does not know what it has missed
    await log.set(write('c'), undefined);
    expect(await log.poll('', a)).toMatchObject({ heard: b, notices: ['b'], reload: true });
    expect(await log.tell('b')).not.toBe(b);
  });

  it('says so where notices are not kept any more, and keeps no history of them', async () => {
    const log = open();
    const first = await log.tell('a');
    await log.set(write('a'), undefined);
    const { version } = await log.poll('', first);
    for (const notice of ['b', 'c', 'd']) await log.tell(notice);
    expect(await log.poll(version, first)).toMatchObject({ notices: undefined, records: [], reload: false });
    const { heard, notices } = await log.poll(version, '0');
    expect(notices).toEqual(['b', 'c', 'd']);
    expect(await log.poll(version, heard)).toMatchObject({ heard, notices: [] });
    expect((await log.history(undefined, 10)).records).toHaveLength(1);
    expect((await log.page(0, 10)).records).toHaveLength(1);
  });

  it('changes nothing for a writer that expects another version', async () => {
    const log = open();
    expect(await log.set(write('a', 5), undefined)).toEqual({ outcome: 'conflict', version: 0 });
    await log.set(write('a', 0), undefined);
    const { version } = (await log.get('a'))!;
    expect(await log.set(write('a', 0), undefined)).toEqual({ outcome: 'conflict', version });
    expect(await log.remove(write('a', version + 1))).toEqual({ outcome: 'conflict', version });
    expect(await log.remove(write('b'))).toEqual({ outcome: 'none' });
    expect(await log.remove(write('a', version))).toMatchObject({ outcome: 'changed' });
    expect(await log.set(write('a', version), undefined)).toEqual({ outcome: 'conflict', version: 0 });
    expect((await log.history(undefined, 10)).records).toHaveLength(2);
  });
});
