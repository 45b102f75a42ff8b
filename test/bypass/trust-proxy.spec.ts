import { Controller, Get } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { type AppSettings, CapturedLogs, limited, type Platform, PLATFORMS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const BUCKET: Policy = { algorithm: 'token-bucket', capacity: 2, refill: '1/h', by: 'ip' };

@Controller()
class Routes {
  @Get()
  @RateLimit(BUCKET)
  get(): void {}
}

type TrustProxy = NonNullable<AppSettings['trustProxy']>;
const seesHop = (_: string, hop: number): boolean => hop < 1;
const isLoopback = (address: string): boolean => address === '127.0.0.1';
const failing = (): never => {
  throw new Error('no such proxy');
};
/** Only Express takes a number of proxies. */
const RIGHT: Record<Platform, TrustProxy[]> = {
  Express: [1, 'loopback', '127.0.0.1, 10.0.0.0/8', seesHop, isLoopback],
  Fastify: ['loopback', '127.0.0.1, 10.0.0.0/8', ['127.0.0.1', '10.0.0.0/8'], seesHop, isLoopback],
};
/** Settings that trust every address, and their names in the warning. Both platforms reject the range 0.0.0.0/0. */
const TRUSTING: [TrustProxy, string][] = [
  [true, 'true'],
  [() => true, 'a function that trusts every address'],
  [(address) => address.includes('.'), 'a function that trusts every address'],
  ['0.0.0.0/1, 128.0.0.0/1', 'a list that contains every address'],
  [['loopback', '::/1', '2000::/3'], 'a list that contains every address'],
  [(async () => false) as unknown as () => boolean, 'a function that trusts every address'], // a promise is truthy
];

describe.each(PLATFORMS)('the trust-proxy setting of %s', (platform) => {
  it.each(TRUSTING)('brings one warning at boot when it trusts every address: %p', async (trustProxy, shown) => {
    await using app = await limited(platform, Routes, { store: new StillStore() }, { trustProxy });
    await app.crowd(5, '/', { headers: { 'X-Forwarded-For': '10.0.0.1' } });
    expect(app.logs.of('warn')).toHaveLength(1);
    const [text] = app.logs.of('warn');
    expect(text).toContain(`trust proxy is ${shown}: `);
    expect(text).toContain('leftmost address of X-Forwarded-For, which every client can forge');
    expect(text).toContain(
      platform === 'Express' ? "app.set('trust proxy', 1)" : "FastifyAdapter({ trustProxy: 'loopback, ",
    );
  });

  it.each([false, failing, ...RIGHT[platform]])('brings no warning when it is %p', async (trustProxy) => {
    await using app = await limited(platform, Routes, { store: new StillStore() }, { trustProxy });
    expect(app.logs.of('warn')).toEqual([]);
  });

  it.each(RIGHT[platform])(
    'takes the address that the proxy added, whatever the client sends, when it is %p',
    async (trustProxy) => {
      const store = new StillStore();
      await using app = await limited(platform, Routes, { store }, { trustProxy });
      const statuses = [];
      for (const forged of ['1.1.1.1, ', '2.2.2.2, ', 'unknown, ', 'rl:{x}, 3.3.3.3, ', '']) {
        const headers = { 'X-Forwarded-For': `${forged}203.0.113.9` };
        statuses.push((await app.send('/', { headers })).status);
      }
      expect(statuses).toEqual([200, 200, 429, 429, 429]);
      expect(store.keys).toEqual([expect.stringMatching(/^rl:\{ip:203\.0\.113\.9\}/)]);
    },
  );

  it('gives each forged address a fresh limit when it is true, as the warning says', async () => {
    await using app = await limited(platform, Routes, { store: new StillStore() }, { trustProxy: true });
    for (let i = 0; i < 10; i++) {
      const headers = { 'X-Forwarded-For': `10.0.0.${i}, 203.0.113.9` };
      expect((await app.send('/', { headers })).status).toBe(200);
    }
  });
});

it('the trust-proxy setting is not read in an application without HTTP', async () => {
  class Root {}
  const logger = new CapturedLogs();
  const module = { module: Root, imports: [RateLimitModule.forRoot({ store: new StillStore() })] };
  const context = await NestFactory.createApplicationContext(module, { logger, abortOnError: false });
  expect([logger.of('warn'), logger.of('error')]).toEqual([[], []]);
  await context.close();
});
