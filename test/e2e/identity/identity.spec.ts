import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  apiKeyIdentity,
  type IdentityResolver,
  identityTag,
  type Policy,
  RateLimit,
  type RateLimitModuleOptions,
  userIdentity,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type AppSettings, limited, PLATFORMS, type SendOptions } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const BUCKET: Policy = { algorithm: 'token-bucket', capacity: 100, refill: '1/m' };

@Controller()
class Routes {
  @Get()
  @RateLimit(BUCKET)
  get(): void {}

  @Get('user')
  @RateLimit({ ...BUCKET, by: 'user' })
  user(): void {}

  @Get('ip')
  @RateLimit({ ...BUCKET, by: 'ip' })
  ip(): void {}
}

type Headers = NonNullable<SendOptions['headers']>;

describe.each(PLATFORMS)('over %s, the identity of a request', (platform) => {
  /** The identity tags that requests with these headers are counted by, without the hashes of API keys. */
  async function identities(
    requests: readonly Headers[],
    options: RateLimitModuleOptions = {},
    settings: AppSettings = {},
    path = '/',
  ): Promise<string[]> {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { identity: FROM_HEADERS, ...options, store }, settings);
    for (const headers of requests) await app.send(path, { headers });
    return store.asked.flat().map(({ key }) => key.replace(/^rl:\{(.*)\}.*$/, '$1').replace(/#.*/, '#'));
  }

  it("is the first one that the module's resolvers find, in their order", async () => {
    const identity = [userIdentity({ header: 'X-Account' }), apiKeyIdentity({ header: 'AUTHORIZATION' })];
    const requests: Headers[] = [
      { 'X-Account': 'a1', Authorization: 't' },
      { authorization: 't' },
      { 'X-API-Key': 'k', 'X-User-Id': 'ada' },
    ];
    expect(await identities(requests, { identity })).toEqual(['user:a1', 'key:#', 'ip:127.0.0.1']);
  });

  const behindProxy = (addresses: string[], options?: RateLimitModuleOptions): Promise<string[]> =>
    identities(
      addresses.map((address) => ({ 'X-Forwarded-For': address })),
      options,
      { trustProxy: true },
    );

  it.each<[string, IdentityResolver[]]>([
    ['finds only users', [userIdentity()]],
    ['is empty', []],
  ])('is the address when a chain %s, so that requests do not share one state', async (_, identity) => {
    expect(await behindProxy(['10.1.2.3', '10.1.2.4', '2001:db8:1:200::1'], { identity })).toEqual([
      'ip:10.1.2.3',
      'ip:10.1.2.4',
      'ip:2001%3Adb8%3A1%3A200%3A%3A/56',
    ]);
  });
});

describe.each(PLATFORMS)("over %s, an 'api-key'", (platform) => {
  const SECRET = 'secret-4711';

  it("of kind 'key' is refused with the right name, and the error does not show it", async () => {
    const key = { kind: 'key', value: SECRET };
    expect(() => identityTag(key)).toThrow("an identity: its kind is 'key', the kind of an API key is 'api-key'");
    expect(() => identityTag(key)).not.toThrow(SECRET);
    const resolvers = [{ kind: 'key', resolve: () => SECRET }];
    await expect(limited(platform, [], { identity: resolvers })).rejects.toThrow(
      /got kind 'key', where API keys have the kind 'api-key',/,
    );

    @Controller()
    class One {
      @Get()
      @RateLimit({ ...BUCKET, by: () => key })
      get(): void {}
    }
    await using app = await limited(platform, One, { store: new StillStore() });
    expect((await app.send('/')).status).toBe(500);
    expect(app.logs.text).toContain("the kind of an API key is 'api-key'");
    expect(app.logs.text).not.toContain(SECRET);
  });
});
