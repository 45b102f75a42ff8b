import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ClockedRedis } from '../support/faults/clocked-redis.js';
import { Pod } from '../support/faults/pod.js';
import { until } from '../support/faults/until.js';

/** The clocks are compared every 10 s. */
const COMPARED_MS = 20_000;

let redis: ClockedRedis;
let admin: Redis;

beforeAll(async () => {
  redis = await ClockedRedis.start();
  admin = new Redis(redis.server.url);
});

afterAll(async () => {
  admin.disconnect();
  await redis[Symbol.asyncDispose]();
});

it("a process with clock: 'app' warns with both figures when its clock jumps, and logs the end", async () => {
  redis.setAhead(0);
  await using pod = await Pod.start({ redis: redis.server.url, clock: 'app', maxSkew: 1000, deadline: 10_000 });
  expect((await pod.ask()).decidedBy).toBe('store');
  expect(pod.app.logs.of('warn')).toEqual([]);
  redis.setAhead(800); // within maxSkew
  await until('the process warns', COMPARED_MS, async () => pod.app.logs.of('warn').length > 0);
  expect(pod.app.logs.of('warn')).toEqual([
    expect.stringMatching(
      /^The clock of this process is \d{3} ms behind Redis's clock, more than half of maxSkew \(1000 ms\)/,
    ),
  ]);
  redis.setAhead(-3_600_000);
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'); // a new connection compares at once
  await until('the process warns', COMPARED_MS, async () =>
    /(3599|3600)\d{3} ms ahead of Redis's clock, more than maxSkew/.test(pod.app.logs.of('warn').join()),
  );
  redis.setAhead(0);
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until('the clocks are close again', COMPARED_MS, async () =>
    pod.app.logs.of('log').join().includes('within half of maxSkew (1000 ms) again'),
  );
});

it("without the right +time, Redis decides nevertheless, and the log says so once (clock: 'app')", async () => {
  const rights = ['evalsha', 'eval', 'mget', 'exists', 'set', 'info'].map((right) => `+${right}`);
  await admin.call('ACL', 'SETUSER', 'timeless', 'reset', 'on', '>secret', '~rl:*', '-@all', ...rights);
  const url = Object.assign(new URL(redis.server.url), { username: 'timeless', password: 'secret' });
  await using pod = await Pod.start({ redis: url.href, clock: 'app', deadline: 10_000 });
  expect((await pod.ask()).decidedBy).toBe('store');
  await until('the process warns', COMPARED_MS, async () => pod.app.logs.of('warn').length > 1);
  // Overrides end by Redis's clock, so they cannot be read without it, either.
  expect(pod.app.logs.of('warn').toSorted()).toEqual([
    expect.stringContaining('No overrides are in force until Redis tells which there are'),
    expect.stringContaining('which needs the right +time: NOPERM'),
  ]);
});
