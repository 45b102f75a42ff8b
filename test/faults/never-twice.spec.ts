import { connect, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import type { RateLimitModuleOptions } from 'nestjs-floodgate';
import { useOneRedis } from '../support/faults/one-redis.js';
import { CAPACITY } from '../support/faults/pod.js';
import { until } from '../support/faults/until.js';

/** Options that would send a charge again, or queue it. */
const UNDOING = {
  autoResendUnfulfilledCommands: true,
  maxRetriesPerRequest: 20,
  enableOfflineQueue: true,
  enableAutoPipelining: true,
  commandTimeout: 10,
  socketTimeout: 10,
  lazyConnect: false,
  monitor: true,
  readOnly: true,
  reconnectOnError: () => 2 as const,
};

/** What the warning says of them. */
const NAMES = [...Object.keys(UNDOING), 'maxRetriesPerRequest: 0'];

const on = useOneRedis();

const query = (options: object): string =>
  Object.entries(options)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');

describe.each<[string, () => RateLimitModuleOptions['redis'], string[]]>([
  ['no options', () => on.proxy.url, []],
  ['options in the query of a URL', () => `${on.proxy.url}?${query(UNDOING)}`, NAMES],
  ['options', () => ({ host: on.proxy.host, port: on.proxy.port, ...UNDOING }), NAMES],
])('with %s that would send a charge again', (_, redis, ignored) => {
  it('makes a charge whose answer is lost once', async () => {
    const pod = await on.start({ redis: redis() });
    await pod.recovered();
    for (let i = 0; i < 6; i++) {
      on.proxy.cut({ containing: '{user:' }); // not a question after overrides
      const { decision } = await (i % 2 === 0 ? pod.timed() : pod.timedOnce());
      expect(decision.decidedBy).toBe('local');
      await on.proxy.pass();
      await pod.recovered();
    }
    expect(on.proxy.cuts).toBe(6);
    expect(CAPACITY - (await pod.leftInRedis())).toBe(3);
    await pod.conclude('answer lost after execution', { answers: [] });
  });

  it('lets no timer of ioredis decide, and names at boot each option that does not hold, with the value that does', async () => {
    const pod = await on.start({ redis: redis(), deadline: 10_000 });
    await pod.recovered();
    on.proxy.delay(30);
    expect(await pod.ask()).toMatchObject({ decidedBy: 'store' });
    const warnings = pod.app.logs.of('warn').filter((line) => line.includes('ignored'));
    expect(warnings).toHaveLength(Math.min(1, ignored.length));
    for (const name of ignored) expect(warnings[0]).toContain(name);
    expect(warnings.join()).not.toContain(String(on.proxy.port));
  });
});

it('charges every request once while the scripts are flushed again and again', async () => {
  const pod = await on.start({ deadline: 10_000 });
  await pod.recovered();
  for (let round = 0; round < 20; round++) {
    const flushed = on.admin.script('FLUSH');
    const asked = Array.from({ length: 5 }, () => [pod.ask(), pod.timedOnce()]).flat();
    await flushed;
    await Promise.all(asked);
  }
  expect(pod.admittedByRedis()).toBe(100);
  expect(CAPACITY - (await pod.leftInRedis())).toBe(100);
  await pod.conclude('SCRIPT FLUSH again and again', { answers: [] });
});

it('other options hold, without a warning', async () => {
  const pod = await on.start({
    redis: `${on.server.url}?db=3&keyPrefix=shop:&connectTimeout=7000`,
    deadline: 10_000,
  });
  await pod.recovered();
  expect(await pod.ask()).toMatchObject({ decidedBy: 'store' });
  await on.admin.select(3);
  expect(await on.admin.keys('shop:rl:{user:ada}*')).toHaveLength(1);
  await on.admin.select(0);
  expect(pod.app.logs.of('warn')).toEqual([]);
});

it.each(['', null])('the host %j means localhost, as in ioredis', async (host) => {
  const pod = await on.start({ redis: { host: host as string, port: on.server.port }, deadline: 10_000 });
  await pod.recovered();
  expect(await pod.ask()).toMatchObject({ decidedBy: 'store' });
});

/** Fails twice after the first connection. */
function failingConnector(): NonNullable<RedisOptions['Connector']> {
  let attempts = 0;
  class FailingConnector extends AbstractConnector {
    constructor() {
      super(50);
    }
    async connect(): Promise<Socket> {
      attempts++;
      if (attempts === 2 || attempts === 3) throw new Error('no token');
      this.connecting = true;
      return (this.stream = connect(on.proxy.port, on.proxy.host));
    }
  }
  return FailingConnector;
}

it.each<[string, () => RedisOptions]>([
  ['a connector that fails', () => ({ Connector: failingConnector() })],
  ['a retryStrategy that gives up', () => ({ port: on.proxy.port, host: on.proxy.host, retryStrategy: () => null })],
])('Redis decides again after %s', async (fault, options) => {
  const pod = await on.start({ redis: options() });
  await pod.recovered();
  on.proxy.reset();
  expect(await pod.ask()).toMatchObject({ decidedBy: 'local' });
  await on.proxy.pass();
  const recoveryMs = await pod.recovered();
  await pod.conclude(fault, { answers: [], recoveryMs });
});

it('a connection that falls silent is replaced, and one that is only slow is kept', async () => {
  const pod = await on.start({ redis: on.proxy.url });
  await pod.recovered();
  on.proxy.delay(40); // each answer comes, and none in time but those that a stall of this process lets in
  const { accepted } = on.proxy;
  for (let late = 0; late < 20;) if ((await pod.ask()).decidedBy === 'local') late++;
  await on.proxy.pass();
  await pod.recovered();
  expect(on.proxy.accepted).toBe(accepted);
  on.proxy.blackHole();
  await until('the connection is replaced, again and again', 20_000, async () => {
    await pod.ask();
    return on.proxy.accepted > accepted + 1;
  });
  await on.proxy.pass();
  const recoveryMs = await pod.recovered();
  await until('only that connection is left', 20_000, () => on.proxy.open === 1);
  await pod.conclude('black hole, until connections are replaced', { answers: [], recoveryMs });
});
