import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  apiKeyIdentity,
  type IdentityResolver,
  ipIdentity,
  type Policy,
  type PolicyBy,
  RateLimit,
  RateLimitConfigError,
  RateLimiter,
  userIdentity,
} from 'nestjs-floodgate';
import { withHelp } from '../../../libs/rate-limit/src/util/error-codes.js';
import { limited, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const BUCKET: Policy = { algorithm: 'token-bucket', capacity: 100, refill: '1/m' };

describe.each(PLATFORMS)('over %s, the identities of several policies', (platform) => {
  it('are resolved once per request, side by side', async () => {
    const calls = { user: 0, tenant: 0 };
    const waiting: (() => void)[] = [];
    /** Settles when both functions of the request have been called. */
    const together = (): Promise<void> =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 2) for (const settle of waiting.splice(0)) settle();
      });
    const resolver: IdentityResolver = {
      kind: 'user',
      resolve: async () => {
        calls.user++;
        await together();
        return 'ada';
      },
    };
    const tenant: PolicyBy = async () => {
      calls.tenant++;
      await together();
      return { kind: 'tenant', value: 'acme' };
    };
    @Controller()
    class Several {
      @Get()
      @RateLimit(
        { ...BUCKET, name: 'client' },
        { ...BUCKET, name: 'user', by: 'user' },
        { ...BUCKET, name: 'ip', by: 'ip' },
        { ...BUCKET, name: 'tenant', by: tenant },
        { ...BUCKET, name: 'tenant again', by: tenant },
      )
      get(): void {}
    }
    const store = new StillStore();
    await using app = await limited(platform, Several, { store, identity: [resolver] });
    for (let i = 1; i <= 3; i++) {
      expect((await app.send('/')).status).toBe(200);
      expect(calls).toEqual({ user: i, tenant: i });
    }
    expect(app.app.get(RateLimiter).stats().functionFailures.identity).toBe(0);
    const tags = store.asked[0]!.map(({ key }) => /\{(.*)\}/.exec(key)![1]);
    expect(tags).toEqual(['user:ada', 'user:ada', 'ip:127.0.0.1', 'tenant:acme', 'tenant:acme']);
  });
});

describe('the resolvers of identities', () => {
  it.each<[string, () => unknown]>([
    [
      "ipIdentity: 'prefix' is not an option; the only option is ipv6Prefix",
      () => ipIdentity({ prefix: 64 } as object),
    ],
    [
      "apiKeyIdentity: 'Header' is not an option; the only option is header",
      () => apiKeyIdentity({ Header: 'x' } as object),
    ],
    [
      "userIdentity: options must be an object such as { header }, got 'X-User'",
      () => userIdentity('X-User' as unknown as object),
    ],
    [
      'userIdentity: options must be an object such as { header }, got null',
      () => userIdentity(null as unknown as object),
    ],
    ["userIdentity: header must be the name of a header, got ''", () => userIdentity({ header: '' })],
    ["apiKeyIdentity: header must be the name of a header, got 'X Key'", () => apiKeyIdentity({ header: 'X Key' })],
    ['apiKeyIdentity: header must be the name of a header, got 7', () => apiKeyIdentity({ header: 7 as never })],
  ])('reject invalid options: %s', (problem, make) => {
    expect(make).toThrow(RateLimitConfigError);
    expect(make).toThrow(`${problem} (see `);
  });
});

describe('ipIdentity', () => {
  it.each([0, -1, 129, 1.5, NaN, Infinity, '56'])('rejects %p as a prefix', (ipv6Prefix) => {
    const wanted = `ipIdentity: ipv6Prefix must be a whole number from 1 to 128, got ${typeof ipv6Prefix === 'string' ? `'${ipv6Prefix}'` : ipv6Prefix}`;
    expect(() => ipIdentity({ ipv6Prefix: ipv6Prefix as number })).toThrow(withHelp(wanted, 'FG_INVALID_OPTION'));
    expect(() => ipIdentity({ ipv6Prefix: ipv6Prefix as number })).toThrow(RateLimitConfigError);
  });
});
