import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  identityTag,
  ipIdentity,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS, type Reply } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

const HEADER = 'CF-Connecting-IP';
const LIMIT = { algorithm: 'fixed-window', limit: 2, window: '1h' } as const;
const headerOf = ({ headers }: RateLimitRequest): string | undefined => headers['cf-connecting-ip'] as string;

@Controller()
class Routes {
  @Get('by-ip')
  @RateLimit({ ...LIMIT, by: 'ip' })
  byIp(): void {}

  @Get('by-client')
  @RateLimit(LIMIT)
  byClient(): void {}

  @Get('by-function')
  @RateLimit({ ...LIMIT, by: (request) => ({ kind: 'ip', value: headerOf(request) }) })
  byFunction(): void {}

  @Get('by-later')
  @RateLimit({ ...LIMIT, by: async (request) => ({ kind: 'ip', value: headerOf(request) }) })
  byLater(): void {}

  @Get('open')
  open(): void {}
}

const CDN = { identity: [ipIdentity({ header: HEADER })] };
const OWN = { identity: [{ kind: 'ip', resolve: headerOf }] };
const LATER = { identity: [{ kind: 'ip', resolve: async (request: RateLimitRequest) => headerOf(request) }] };

/** Each way in which an application names addresses. */
const WAYS: [string, string, RateLimitModuleOptions][] = [
  ['ipIdentity of a header', '/by-ip', CDN],
  ['ipIdentity of a header', '/by-client', CDN],
  ['a resolver of its own', '/by-ip', OWN],
  ['a resolver that answers later', '/by-ip', LATER],
  ['by, a function', '/by-function', {}],
  ['by, an asynchronous function', '/by-later', {}],
];
/** Texts that mean one client. */
const CLIENTS: [string, string, string[]][] = [
  [
    'an IPv4 address',
    'ip:203.0.113.9',
    ['203.0.113.9', '203.0.113.9:443', '::ffff:203.0.113.9', '::FFFF:cb00:7109', '[::ffff:203.0.113.9]:80'],
  ],
  [
    'a prefix of IPv6',
    'ip:2001%3Adb8%3A%3A/56',
    ['2001:db8::1', '2001:DB8::2', '[2001:db8::3]:443', '2001:db8:0:0::4%eth0', '2001:db8:0:ff::5'],
  ],
];

const POLICIES = { calls: { ...LIMIT, by: 'ip', scope: 'app' } } as const;

function serve(options: RateLimitModuleOptions, store = new StillStore()): Promise<HttpApp> {
  return limited('Express', Routes, { policies: POLICIES, ...options, store });
}

const from = (app: HttpApp, address: string, path: string): Promise<Reply> =>
  app.send(path, { headers: { [HEADER]: address } });

const tagOf = (key: string): string => /\{(.*)\}/.exec(key)![1]!;

describe.each(CLIENTS)('the spellings of %s', (_, tag, spellings) => {
  it.each(WAYS)('are one client for %s at %s', async (_way, path, options) => {
    const store = new StillStore();
    await using app = await serve(options, store);
    const statuses = [];
    for (const spelling of spellings) statuses.push((await from(app, spelling, path)).status);
    expect(statuses).toEqual(spellings.map((_one, i) => (i < 2 ? 200 : 429)));
    expect(store.keys.map(tagOf)).toEqual([tag]);
  });

  it('are one client for RateLimiter and for operators', async () => {
    await using app = await serve({});
    const limiter = app.app.get(RateLimiter);
    const allowed = [];
    for (const value of spellings) allowed.push((await limiter.consume('calls', { kind: 'ip', value })).allowed);
    expect(allowed).toEqual(spellings.map((_one, i) => i < 2));
    const overrides = app.app.get(RateLimitOverrides);
    for (const value of [...spellings, spellings[0] === '2001:db8::1' ? '2001:db8::/56' : spellings[0]!]) {
      const identity = { kind: 'ip', value };
      expect(identityTag(identity)).toBe(tag);
      expect((await limiter.peek('calls', identity)).policies[0]!.remaining).toBe(0);
      await overrides.set({ policy: 'calls', identity }, { blocked: true });
    }
    expect((await overrides.list()).items).toEqual([expect.objectContaining({ identity: tag })]);
    expect(await limiter.reset('calls', { kind: 'ip', value: spellings[1]! })).toMatchObject([{ found: true }]);
  });
});

describe('what is no address', () => {
  it.each(WAYS)('is no identity for %s at %s: the connection counts', async (_, path, options) => {
    const store = new StillStore();
    await using app = await serve(options, store);
    for (const text of ['unknown', '999.1.1.1', '203.0.113.9, 10.0.0.1', '2001:db8::/32', '__proto__', ' ']) {
      await from(app, text, path);
    }
    expect(store.keys.map(tagOf)).toEqual(['ip:127.0.0.1']);
  });

  it('is refused where code gives it, with what would be right', async () => {
    await using app = await serve({});
    await expect(app.app.get(RateLimiter).consume('calls', { kind: 'ip', value: 'ada' })).rejects.toThrow(
      "RateLimiter.consume: an identity of kind 'ip': its value must be an address such as '203.0.113.9', or a prefix such as " +
        "'2001:db8::/56', got a text of 3 bytes: give what is no address a kind of its own",
    );
  });
});

it('the prefix of ipIdentity counts, whoever names an address', async () => {
  const store = new StillStore();
  await using app = await serve({ identity: [ipIdentity({ header: HEADER, ipv6Prefix: 64 }), ipIdentity()] }, store);
  const limiter = app.app.get(RateLimiter);
  await from(app, '2001:db8::1', '/by-ip');
  await from(app, '2001:db8::1', '/by-function');
  await limiter.consume('calls', { kind: 'ip', value: '2001:db8::2' });
  await limiter.schedule('calls', { kind: 'ip', value: '2001:db8::3' }, () => 1);
  expect(new Set(store.keys.map(tagOf))).toEqual(new Set(['ip:2001%3Adb8%3A%3A/64']));
  expect(identityTag({ kind: 'ip', value: '2001:db8::4' }, 64)).toBe('ip:2001%3Adb8%3A%3A/64');
});

it('two prefixes of one module, and a header that a client begins itself, are refused', async () => {
  const identity = [ipIdentity({ header: HEADER, ipv6Prefix: 64 }), ipIdentity({ ipv6Prefix: 48 })];
  await expect(serve({ identity })).rejects.toThrow(
    'RateLimitModule, identity: ipv6Prefix must be one for all addresses, got 64 and 48',
  );
  expect(() => ipIdentity({ header: 'X-Forwarded-For' })).toThrow('set trust proxy, and leave header out');
});

describe.each(PLATFORMS)('over %s, the lists', (platform) => {
  it.each<[string, RateLimitModuleOptions]>([
    ['ipIdentity of a header', CDN],
    ['a resolver of its own', OWN],
    ['a resolver that answers later', LATER],
  ])("read the address that by: 'ip' counts, by %s", async (_, options) => {
    const lists = { allowList: ['198.51.100.0/24'], blockList: ['203.0.113.0/24', '2001:db8:0:7::/64'] };
    await using app = await limited(platform, Routes, { ...options, ...lists, store: new StillStore() });
    for (const blocked of ['203.0.113.9', '::ffff:203.0.113.9', '2001:db8:0:7::1', '[2001:db8:0:7::2]:443']) {
      expect((await from(app, blocked, '/open')).status).toBe(403);
      expect((await from(app, blocked, '/by-ip')).status).toBe(403);
    }
    expect((await from(app, '2001:db8:0:8::1', '/by-ip')).status).toBe(200);
    for (let i = 0; i < 4; i++) expect((await from(app, '198.51.100.7', '/by-ip')).status).toBe(200);
    // Without an address in the header, the connection's.
    expect((await app.send('/by-ip')).status).toBe(200);
  });
});
