import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type IdentityResolver, type Policy, RateLimit, type RateLimitRequest } from 'nestjs-floodgate';
import { type HttpApp, limited } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ONE = { name: 'tenant', algorithm: 'fixed-window', limit: 1, window: '300d' } as const;

function open(by: Policy['by'], identity?: IdentityResolver[]): Promise<HttpApp> {
  @Controller()
  class Routes {
    @Get()
    @RateLimit({ ...ONE, ...(by !== undefined && { by }) })
    get(): void {}
  }
  return limited('Express', Routes, { store: new StillStore(), ...(identity && { identity }) });
}

describe('a by function', () => {
  it('that returns a kind without a value is said once, and the address counts', async () => {
    await using app = await open(({ headers }: RateLimitRequest) => ({
      kind: 'tenant',
      value: headers['x-tenent'] as string,
    }));
    const statuses = [(await app.send('/')).status, (await app.send('/')).status];
    expect(statuses).toEqual([200, 429]);
    expect(app.logs.of('warn')).toEqual(
      [
        "Routes.get: the by function of policy 'tenant' returned { kind: 'tenant' } without a value, so the request counts by its address, " +
          'if at all. A misspelt header is undefined, too. If requests may lack it, return undefined',
      ].map((text) => expect.stringContaining(text)),
    );
  });

  it('that returns undefined says that a request may lack its identity', async () => {
    await using app = await open(() => undefined);
    await app.send('/');
    expect(app.logs.of('warn')).toEqual([]);
  });

  it.each<[unknown, string]>([
    ['ada', "its kind must be 1 to 16 of a-z, 0-9 and -, as in { kind: 'user', value: '...' }, got a text of 3 bytes"],
    ['sk_live_0123456789', 'got a text of 18 bytes'],
    [
      { kind: 'Tenant', value: 'ada' },
      "its kind must be 1 to 16 of a-z, 0-9 and -, as in { kind: 'user', value: '...' }, got a text of 6 bytes",
    ],
    [
      { kind: 'tenant', value: 1.5 },
      "an identity of kind 'tenant': its value must be a string, a safe integer or a bigint, got a value of type number",
    ],
  ])('that returns %j is a 500 that names the route, the policy and what was returned', async (returned, message) => {
    for (const answer of [() => returned, async () => Promise.resolve(returned)]) {
      await using app = await open(answer as unknown as Policy['by']);
      expect((await app.send('/')).status).toBe(500);
      expect(app.logs.text).toContain("Routes.get, policy 'tenant', by: ");
      expect(app.logs.text).toContain(message);
      expect(app.logs.text).not.toMatch(/sk_live|'ada'|1\.5/);
    }
  });
});

it('a resolver whose value is none is a 500 that names the route, the policy and the resolver', async () => {
  await using app = await open('client', [{ kind: 'user', resolve: () => 1.5 }]);
  expect((await app.send('/')).status).toBe(500);
  expect(app.logs.text).toContain(
    "Routes.get, policy 'tenant', the resolver of user: an identity of kind 'user': its value must be",
  );
});
