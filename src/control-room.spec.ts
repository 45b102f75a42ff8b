import { expect, it } from '@jest/globals';
import { readConfiguration } from './config/read-configuration.js';
import { worldOf } from './control-room.js';

it('starts worlds of their own: nothing of this process but its numbers', () => {
  const own = readConfiguration({
    BIND: '*',
    REDIS_URL: 'redis://cache:6379',
    DATABASE_URL: 'postgres://app:secret@db/city',
    MATCHING_URL: 'http://matching:4000',
    MATCHING_RADIUS_KM: '3',
    ADMIN_TOKEN: '0123456789abcdef',
    RATE_LIMIT: 'off',
    PODS: '12',
    MATCHING_CANCEL: 'on',
    MATCHING_NEWEST_FIRST: 'on',
  });
  const size = { workers: 2, serviceMs: 53, queue: 188, limit: 25, burst: 2 };
  const world = worldOf(own, size);
  expect(world).toEqual(worldOf(readConfiguration({ MATCHING_RADIUS_KM: '3' }), size));
  expect(world).toMatchObject({
    port: 0,
    bind: '127.0.0.1',
    rateLimit: 'on',
    rateLimitGuard: false,
    controlRoom: 'off',
    matchingLimit: { perSecond: 25, burst: 2 },
    matching: { workers: 2, serviceMs: 53, queue: 188, radiusKm: 3 },
  });
});
