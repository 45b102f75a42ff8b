import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  apiKeyIdentity,
  ipIdentity,
  type OnMissingIdentity,
  type Policy,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
  userIdentity,
} from 'nestjs-floodgate';
import {
  type AppSettings,
  FROM_HEADERS,
  type HttpApp,
  limited,
  type Platform,
  PLATFORMS,
  type SendOptions,
  start,
} from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

@Controller()
class Routes {
  @Get()
  @RateLimit({ algorithm: 'token-bucket', capacity: 20, refill: '1/h' })
  get(): void {}
}

/** The module as in the README's first example, without options. */
function outOfTheBox(platform: Platform): Promise<HttpApp> {
  return start(platform, { imports: [RateLimitModule.forRoot()], controllers: [Routes] });
}

/** Headers that a client can invent for each request. */
const INVENTED: readonly [string, (i: number) => SendOptions & { readonly path?: string }][] = [
  ['X-User-Id', (i) => ({ headers: { 'X-User-Id': `user-${i}` } })],
  ['X-API-Key', (i) => ({ headers: { 'X-API-Key': `key-${i}` } })],
  ['Authorization', (i) => ({ headers: { Authorization: `Bearer token-${i}` } })],
  ['X-Forwarded-For', (i) => ({ headers: { 'X-Forwarded-For': `198.51.100.${i}` } })],
  ['X-Real-IP', (i) => ({ headers: { 'X-Real-IP': `198.51.100.${i}` } })],
  ['the headers of CDNs', (i) => ({ headers: { 'CF-Connecting-IP': `198.51.100.${i}`, 'True-Client-IP': `::${i}` } })],
  ['Cookie and User-Agent', (i) => ({ headers: { Cookie: `session=${i}`, 'User-Agent': `agent-${i}` } })],
  [
    'X-Original-URL and X-HTTP-Method-Override',
    (i) => ({ headers: { 'X-Original-URL': `/${i}`, 'X-HTTP-Method-Override': 'PUT' } }),
  ],
  ['the query', (i) => ({ path: `/?user=${i}&api_key=${i}` })],
  ['the method', (i) => ({ method: i % 2 === 0 ? 'GET' : 'HEAD' })],
];

describe.each(PLATFORMS)('RateLimitModule.forRoot() without options, over %s', (platform) => {
  it.each(INVENTED)('admits 20 of 25 requests of a client that invents %s', async (_, invent) => {
    await using app = await outOfTheBox(platform);
    const counts: Record<number, number> = {};
    for (let i = 0; i < 25; i++) {
      const { path = '/', ...options } = invent(i);
      const { status } = await app.send(path, options);
      counts[status] = (counts[status] ?? 0) + 1;
    }
    expect(counts).toEqual({ 200: 20, 429: 5 });
  });
});

const TRUSTED_HEADERS = 'Identities are taken from the headers ';
const LACKING = /: policy '.*' counts by '(user|api-key)', but no resolver of the option identity finds /;
const FORWARDED = 'while trust proxy is off';
const BUCKET: Policy = { name: 'rider', algorithm: 'token-bucket', capacity: 20, refill: '1/h' };

describe.each(PLATFORMS)('the log lines about identities, over %s', (platform) => {
  it.each<[string, RateLimitModuleOptions['identity'], string[]]>([
    ['none by default', undefined, []],
    ['those of the built-in resolvers', FROM_HEADERS, ['X-API-Key, X-User-Id']],
    [
      'custom headers',
      [userIdentity({ header: 'X-Account' }), apiKeyIdentity({ header: 'authorization' })],
      ['X-Account, authorization'],
    ],
    ['each header once', [userIdentity(), { kind: 'token', header: 'X-User-Id', resolve: () => null }], ['X-User-Id']],
  ])('name the trusted headers: %s', async (_, identity, headers) => {
    await using app = await limited(platform, Routes, { store: new StillStore(), ...(identity && { identity }) });
    await app.crowd(3, '/', { headers: { 'X-User-Id': 'secret-user', 'X-API-Key': 'secret-key' } });
    const said = app.logs.lines.filter(({ text }) => text.startsWith(TRUSTED_HEADERS));
    expect(said.map(({ level, text }) => [level, text.slice(TRUSTED_HEADERS.length).split(':')[0]])).toEqual(
      headers.map((names) => ['log', names]),
    );
    expect(app.logs.text).not.toContain('secret');
  });

  it.each<['user' | 'api-key', OnMissingIdentity, number, string]>([
    ['user', 'reject', 401, 'finds users, so the policy answers every request with 401'],
    ['api-key', 'throw', 500, 'finds API keys, so the policy answers every request with 500'],
  ])(
    "warn once that no resolver finds an identity for by: '%s', and name the effect of '%s'",
    async (by, onMissingIdentity, status, end) => {
      @Controller()
      @RateLimit({ ...BUCKET, by })
      class Twice {
        @Get('one')
        one(): void {}

        @Get('two')
        two(): void {}
      }
      await using app = await limited(platform, Twice, { store: new StillStore(), onMissingIdentity });
      expect((await app.send('/one', { headers: { 'X-User-Id': 'ada', 'X-API-Key': 'k' } })).status).toBe(status);
      const said = app.logs.of('warn').filter((text) => LACKING.test(text));
      expect(said).toHaveLength(1);
      expect(said[0]).toContain(`Twice, @RateLimit: policy 'rider' counts by '${by}'`);
      expect(said[0]).toContain(end);
      expect(said[0]).toContain(
        by === 'user' ? 'identity: [userIdentity(), ipIdentity()]' : 'identity: [apiKeyIdentity(), ',
      );
    },
  );
});

describe.each(PLATFORMS)('a forwarded request over %s', (platform) => {
  const warningsFor = async (
    trustProxy: AppSettings['trustProxy'],
    headers: SendOptions['headers'],
  ): Promise<string[]> => {
    await using app = await limited(platform, Routes, { store: new StillStore() }, { trustProxy: trustProxy! });
    await app.crowd(5, '/');
    await app.crowd(5, '/', { headers: headers! });
    await app.crowd(5, '/', { headers: { 'X-Forwarded-For': '10.9.8.6' } });
    return app.logs.of('warn').filter((text) => text.includes(FORWARDED));
  };

  it.each(['X-Forwarded-For', 'Forwarded', 'X-Real-IP'])(
    'with %s brings one warning while trust proxy is off',
    async (header) => {
      const said = await warningsFor(false, { [header]: '10.9.8.7' });
      expect(said).toHaveLength(1);
      expect(said[0]).toContain(`with the header ${header.toLowerCase()} while`);
      expect(said[0]).toContain(
        platform === 'Express' ? "app.set('trust proxy', 1)" : "trustProxy: 'loopback, 10.0.0.0/8', given to fastify()",
      );
      expect(said[0]).not.toContain('10.9.8');
      expect(said[0]!.includes('have the proxy send X-Forwarded-For')).toBe(header !== 'X-Forwarded-For');
    },
  );

  it.each<NonNullable<AppSettings['trustProxy']>>([true, 'loopback', '10.0.0.0/8', () => false])(
    'brings no warning when trust proxy is set: %p',
    async (trustProxy) => {
      expect(await warningsFor(trustProxy, { 'X-Forwarded-For': '10.9.8.7' })).toEqual([]);
    },
  );

  it('brings no warning where a header names the address', async () => {
    const identity = [ipIdentity({ header: 'CF-Connecting-IP' })];
    await using app = await limited(platform, Routes, { store: new StillStore(), identity }, { trustProxy: false });
    await app.crowd(5, '/', { headers: { 'X-Forwarded-For': '10.9.8.7', 'CF-Connecting-IP': '10.9.8.7' } });
    expect(app.logs.of('warn')).toEqual([]);
  });
});
