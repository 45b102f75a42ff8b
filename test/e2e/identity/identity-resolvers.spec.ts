import { describe, expect, it } from '@jest/globals';
import { ipIdentity, RateLimitConfigError, userIdentity } from 'nestjs-floodgate';

describe('the resolvers of identities', () => {
  it.each<[string, () => unknown]>([
    [
      "ipIdentity: 'prefix' is not an option; the options are header and ipv6Prefix",
      () => ipIdentity({ prefix: 64 } as object),
    ],
    [
      "userIdentity: options must be an object such as { header }, got 'X-User'",
      () => userIdentity('X-User' as unknown as object),
    ],
    ['ipIdentity: ipv6Prefix must be a whole number from 1 to 128, got 129', () => ipIdentity({ ipv6Prefix: 129 })],
    ["userIdentity: header must be the name of a header, got ''", () => userIdentity({ header: '' })],
  ])('reject invalid options: %s', (problem, make) => {
    expect(make).toThrow(RateLimitConfigError);
    expect(make).toThrow(`${problem} (see `);
  });
});
