import { connect, type Socket } from 'node:net';
import { describe, expect, it, jest } from '@jest/globals';
import { AbstractConnector, type RedisOptions } from 'ioredis';
import type { RateLimitModuleOptions } from 'nestjs-floodgate';
import { CAPACITY, Pod } from '../support/faults/pod.js';
import { useProxiedRedis } from '../support/faults/proxied-redis.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

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

const at = useProxiedRedis();

const query = (options: object): string =>
  Object.entries(options)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join('&');

describe.each<[string, () => RateLimitModuleOptions['redis']]>([
  ['the query of a URL', () => `${at.proxy.url}?${query(UNDOING)}`],
  ['an object', () => ({ host: at.proxy.host, port: at.proxy.port, ...UNDOING })],
])('options in %s that a promise rests on', (_, redis) => {
  it('never cause a second charge', async () => {
    await using pod = await Pod.start({ redis: redis() });
    await pod.recovered();
    for (let i = 0; i < 3; i++) {
      at.proxy.cut({ containing: 'evalsha', times: 3 });
      await pod.timedOnce();
      await at.proxy.pass();
      await pod.recovered();
    }
    await pod.ask();
    expect(CAPACITY - (await pod.leftInRedis())).toBe(1);
    await pod.conclude('options that would resend', { answers: [] });
  });

  it('never let a timer of ioredis decide', async () => {
    await using pod = await Pod.start({ redis: redis(), deadline: 500 });
    await pod.recovered();
    at.proxy.delay(30);
    expect(await pod.ask()).toMatchObject({ decidedBy: 'store' });
  });

  it('are named at boot, each with the value that holds', async () => {
    await using pod = await Pod.start({ redis: redis() });
    const said = pod.app.logs.of('warn').filter((line) => line.includes('ignored'));
    expect(said).toHaveLength(1);
    for (const name of Object.keys(UNDOING)) expect(said[0]).toContain(name);
    expect(said[0]).toContain('maxRetriesPerRequest: 0');
    expect(said[0]).not.toContain(String(at.proxy.port));
  });
});

it('other options hold, without a warning', async () => {
  await using pod = await Pod.start({ redis: `${at.server.url}?db=3&keyPrefix=shop:&connectTimeout=700` });
  expect(await pod.ask()).toMatchObject({ decidedBy: 'store' });
  expect(pod.app.logs.of('warn')).toEqual([]);
});

it('Redis decides again after a connector that fails', async () => {
  let failures = 0;
  class FailingConnector extends AbstractConnector {
    constructor() {
      super(50);
    }
    async connect(): Promise<Socket> {
      if (at.proxy.accepted === 1 && failures++ < 2) throw new Error('no token');
      this.connecting = true;
      return (this.stream = connect(at.proxy.port, at.proxy.host));
    }
  }
  const Connector = FailingConnector as unknown as NonNullable<RedisOptions['Connector']>;
  await using pod = await Pod.start({ redis: { Connector } });
  await pod.recovered();
  at.proxy.reset();
  expect(await pod.ask()).toMatchObject({ decidedBy: 'local' });
  await at.proxy.pass();
  const recoveryMs = await pod.recovered();
  expect(failures).toBeGreaterThan(1);
  await pod.conclude('a connector that fails', { answers: [], recoveryMs });
});

it.each(['', null])('the host %j means localhost, as in ioredis', async (host) => {
  await using pod = await Pod.start({ redis: { host: host as string, port: at.server.port } });
  await pod.recovered();
  expect(await pod.ask()).toMatchObject({ decidedBy: 'store' });
});

it('Redis decides again after a retryStrategy that gives up', async () => {
  await using pod = await Pod.start({ redis: { port: at.proxy.port, host: at.proxy.host, retryStrategy: () => null } });
  await pod.recovered();
  at.proxy.reset();
  expect(await pod.ask()).toMatchObject({ decidedBy: 'local' });
  await at.proxy.pass();
  const recoveryMs = await pod.recovered();
  await pod.conclude('a retryStrategy that gives up', { answers: [], recoveryMs });
});
