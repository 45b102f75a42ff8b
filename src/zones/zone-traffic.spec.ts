import { expect, it } from '@jest/globals';
import { Database } from '../database/database.js';
import { ZoneTraffic } from './zone-traffic.js';

it('forgets the traffic of the least recent zones beyond the limit', async () => {
  let now = 0;
  const database = await Database.open(undefined);
  const traffic = new ZoneTraffic({ now: () => now }, database);
  traffic.count('old', 'requests');
  expect((await traffic.counts()).get('old')).toMatchObject({ requests: 1 });
  now = 1;
  for (let i = 0; i < 10_000; i++) traffic.count(`z${i}`, 'requests');
  const counts = await traffic.counts();
  expect([counts.size, counts.get('old')]).toEqual([10_000, undefined]);
  expect(counts.get('z9999')).toMatchObject({ requests: 1 });
  expect(traffic.total('requests')).toBe(10_001);
  await database.onApplicationShutdown();
});
