import { request } from 'node:http';
import { Controller, Get } from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { type AppSettings, CapturedLogs, limited, type Platform, PLATFORMS } from '../support/http-app.js';
import { trustsHopOf } from '../../libs/nest/src/contexts/platform.js';
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

type TrustProxy = NonNullable<AppSettings['trustProxy']>;
const failing = (): never => {
  throw new Error('no such proxy');
};
const LISTS: TrustProxy[] = ['loopback', '127.0.0.1, 10.0.0.0/8', (_, hop) => hop < 1];
/** Settings that trust one hop. Only Express takes a number of proxies, and only Fastify is tried with an array. */
const RIGHT: Record<Platform, TrustProxy[]> = {
  Express: [1, ...LISTS],
  Fastify: [['127.0.0.1', '10.0.0.0/8'], ...LISTS],
};
/** Settings that trust every address, and their names in the warning. Both platforms reject the range 0.0.0.0/0. */
const TRUSTING: [TrustProxy, string][] = [
  [true, 'true'],
  [(address) => address.includes('.'), 'a function that trusts every address'],
  ['0.0.0.0/1, 128.0.0.0/1', 'a list that contains every address'],
  [['loopback', '::/1', '2000::/3'], 'a list that contains every address'],
  [(async () => false) as unknown as () => boolean, 'a function that trusts every address'], // a promise is truthy
];

describe.each(PLATFORMS)('the address of a client over %s', (platform) => {
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

  it.each(RIGHT[platform])(
    'is what the trusted proxy added, whatever the client sends, when trust proxy is %p',
    async (trustProxy) => {
      const store = new StillStore();
      await using app = await limited(platform, Routes, { store }, { trustProxy });
      expect(app.logs.of('warn')).toEqual([]);
      const statuses = [];
      for (const forged of ['1.1.1.1, ', '2.2.2.2,', 'unknown, ', 'rl:{x}, 3.3.3.3, ', '::ffff:']) {
        const headers = { 'X-Forwarded-For': `${forged}203.0.113.9` };
        statuses.push((await app.send('/', { headers })).status);
      }
      expect(statuses).toEqual([200, 200, 429, 429, 429]);
      expect(tags(store)).toEqual(['ip:203.0.113.9']);
    },
  );

  it('is no fresh bucket for empty or invalid entries: they count as the proxy', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store }, { trustProxy: 'loopback' });
    const statuses = [];
    for (const chain of ['', ',', ' , ', '203.0.113.1,', '203.0.113.2, ,', 'unknown', '_x', ',,,,', '"', '\t']) {
      statuses.push((await app.send('/', { headers: { 'X-Forwarded-For': chain } })).status);
    }
    expect(statuses).not.toContain(500);
    expect(store.keys.length).toBeLessThanOrEqual(3);
  });

  it.each(TRUSTING)('brings one warning at boot when every address is trusted: %p', async (trustProxy, shown) => {
    await using app = await limited(platform, Routes, { store: new StillStore() }, { trustProxy });
    await app.crowd(5, '/', { headers: { 'X-Forwarded-For': '10.0.0.1' } });
    expect(app.logs.of('warn')).toHaveLength(1);
    const [text] = app.logs.of('warn');
    expect(text).toContain(`trust proxy is ${shown}: `);
    expect(text).toContain(
      platform === 'Express' ? "app.set('trust proxy', 1)" : "trustProxy: 'loopback, 10.0.0.0/8', given to fastify()",
    );
  });

  it.each([false, failing])('brings no warning when trust proxy is %p', async (trustProxy) => {
    await using app = await limited(platform, Routes, { store: new StillStore() }, { trustProxy });
    expect(app.logs.of('warn')).toEqual([]);
  });
});

it('a number of proxies, which Fastify ignores, brings a warning, and lets no header choose the address', async () => {
  const store = new StillStore();
  await using app = await limited('Fastify', Routes, { store }, { trustProxy: 1 });
  expect(app.logs.of('warn')).toEqual([expect.stringMatching(/^trust proxy is 1, which .* ignores: .*'loopback, 10/)]);
  await app.crowd(2, '/', { headers: { 'X-Forwarded-For': '203.0.113.9' } });
  expect(tags(store)).toEqual(['ip:127.0.0.1']);
  // The rule for requests that Fastify does not see, such as upgrades, is the same.
  expect(trustsHopOf(app.app.get(HttpAdapterHost))('127.0.0.1', 0)).toBe(false);
  expect(app.logs.of('warn')).toHaveLength(1);
});

it('the trust-proxy setting is not read in an application without HTTP', async () => {
  class Root {}
  const logger = new CapturedLogs();
  const module = { module: Root, imports: [RateLimitModule.forRoot({ store: new StillStore() })] };
  const context = await NestFactory.createApplicationContext(module, { logger, abortOnError: false });
  expect([logger.of('warn'), logger.of('error')]).toEqual([[], []]);
  await context.close();
});
