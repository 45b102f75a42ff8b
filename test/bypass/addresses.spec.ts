import { request } from 'node:http';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimit } from 'nestjs-floodgate';
import { type AppSettings, limited, type Platform, PLATFORMS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'one', algorithm: 'token-bucket', capacity: 2, refill: '1/h' })
  get(): void {}
}

const tags = (store: StillStore): string[] => store.keys.map((key) => /\{(.*)\}/.exec(key)![1]!);

function statusOf(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    sent.on('error', reject).end();
  });
}

describe.each(PLATFORMS)('the address of a connection over %s', (platform) => {
  it('has one bucket over IPv4 and another one over IPv6, on a server that listens on IPv6', async () => {
    const store = new StillStore();
    await using http = await limited(platform, Routes, { store });
    // On a server that listens on all addresses, an IPv4 peer is ::ffff:127.0.0.1.
    const server = http.app.getHttpServer() as import('node:http').Server;
    await new Promise((resolve) => server.close(resolve));
    await new Promise<void>((resolve) => server.listen(0, '::', resolve));
    const { port } = server.address() as { port: number };
    const statuses = [];
    for (const host of ['127.0.0.1', '127.0.0.1', '127.0.0.1', '::1', '::1', '::1'])
      statuses.push(await statusOf(host, port));
    expect(statuses).toEqual([200, 200, 429, 200, 200, 429]);
    expect(tags(store)).toEqual(['ip:127.0.0.1', 'ip:%3A%3A/56']);
  });
});

type TrustProxy = NonNullable<AppSettings['trustProxy']>;
const CHAINS: [string, TrustProxy, Platform[], string, string][] = [
  ['a count of one', 1, ['Express'], '198.51.100.1, 203.0.113.9', '203.0.113.9'],
  ['a count of two', 2, ['Express'], '198.51.100.1, 203.0.113.9, 10.0.0.1', '203.0.113.9'],
  ['a count longer than the chain', 5, ['Express'], '203.0.113.9', '203.0.113.9'],
  ['loopback', 'loopback', ['Express', 'Fastify'], '198.51.100.1, 203.0.113.9', '203.0.113.9'],
  [
    'a CIDR of proxies in a row',
    'loopback, 10.0.0.0/8',
    ['Express', 'Fastify'],
    '1.1.1.1, 203.0.113.9, 10.1.1.1, 10.2.2.2',
    '203.0.113.9',
  ],
  ['a list', ['127.0.0.1', '10.0.0.0/8'], ['Express', 'Fastify'], '203.0.113.9, 10.1.1.1', '203.0.113.9'],
  ['a function of the hop', (_, hop) => hop < 1, ['Express', 'Fastify'], '198.51.100.1, 203.0.113.9', '203.0.113.9'],
  ['no spaces', 'loopback', ['Express', 'Fastify'], '198.51.100.1,203.0.113.9', '203.0.113.9'],
  ['a mapped IPv6', 'loopback', ['Express', 'Fastify'], '198.51.100.1, ::ffff:203.0.113.9', '203.0.113.9'],
  ['a port', 'loopback', ['Express', 'Fastify'], '198.51.100.1, 203.0.113.9:4711', '203.0.113.9'],
];

describe.each(PLATFORMS)('a chain of proxies over %s', (platform) => {
  it.each(CHAINS.filter(([, , platforms]) => platforms.includes(platform)))(
    'counts the client that the trusted proxies name: %s',
    async (_, trustProxy, __, chain, expected) => {
      const store = new StillStore();
      await using app = await limited(platform, Routes, { store }, { trustProxy });
      for (let i = 0; i < 3; i++) await app.send('/', { headers: { 'X-Forwarded-For': chain } });
      expect(tags(store)).toEqual([`ip:${expected}`]);
    },
  );

  it('gives no fresh bucket for empty or invalid entries: they count as the proxy', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store }, { trustProxy: 'loopback' });
    const statuses = [];
    for (const chain of ['', ',', ' , ', '203.0.113.1,', '203.0.113.2, ,', 'unknown', '_x', ',,,,', '"', '\t']) {
      statuses.push((await app.send('/', { headers: { 'X-Forwarded-For': chain } })).status);
    }
    expect(statuses).not.toContain(500);
    expect(store.keys.length).toBeLessThanOrEqual(3);
  });
});
