import { setImmediate as turn } from 'node:timers/promises';
import { type ArgumentsHost, Catch, Controller, Get, type Type, UnauthorizedException } from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  type IdentityResolver,
  type OnMissingIdentity,
  type Policy,
  type PolicyBy,
  RateLimit,
  RateLimiter,
  RateLimitIdentityMissingException,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, limitHeaders, PLATFORMS, start } from '../support/http-app.js';
import { expectRationed } from '../support/rationed.js';
import { StillStore } from '../support/still-store.js';

const BUCKET: Policy = { name: 'rider', algorithm: 'token-bucket', capacity: 100, refill: '1/h' };

function routeWith(policy: Partial<Policy>): Type {
  @Controller()
  class Rides {
    @Get()
    @RateLimit({ ...BUCKET, ...policy } as Policy)
    get(): string {
      return 'passed';
    }
  }
  return Rides;
}

const failing = (error: unknown) => (): never => {
  throw error;
};
const rejecting = (error: unknown) => async (): Promise<never> => {
  await turn();
  throw error;
};
const neverSettles = (): Promise<never> => new Promise(() => undefined);
const SECRET = 'sk_live_9999-SECRET';

const user = (id: () => unknown): PolicyBy => (() => ({ kind: 'user', value: id() })) as PolicyBy;

/** The reasons in the log line. */
const FORGED = 'token is forged';
const NEVER_SETTLED = 'it did not settle within 50 ms';

/**
 * A `by` and the module's resolvers that find no identity, the reason that the log gives where one of them fails, and a part of another
 * warning.
 */
const WITHOUT_IDENTITY: [string, PolicyBy, IdentityResolver[] | undefined, string?, string?][] = [
  ["by 'user' without a user", 'user', undefined],
  ["by 'api-key' without a key", 'api-key', undefined],
  ['a resolver that finds null', 'user', [{ kind: 'user', resolve: () => null }]],
  ['a resolver that resolves to undefined', 'user', [{ kind: 'user', resolve: () => Promise.resolve(undefined) }]],
  ['a by function that returns undefined', () => undefined, undefined],
  ['a by function that resolves to null', async () => null, undefined],
  ['a by function whose value is empty', user(() => ''), undefined, undefined, 'without a value'],
  [
    'a by function without a value',
    (() => ({ kind: 'user' })) as unknown as PolicyBy,
    undefined,
    undefined,
    'without a value',
  ],
  ['a by function that throws', failing(new Error(FORGED)), undefined, FORGED],
  ['a by function that rejects', rejecting(new Error(FORGED)), undefined, FORGED],
  ['a by function that never settles', neverSettles, undefined, NEVER_SETTLED],
  ['a resolver that throws', 'user', [{ kind: 'user', resolve: failing(new Error(FORGED)) }], FORGED],
  ['a resolver that rejects', 'user', [{ kind: 'user', resolve: rejecting(new Error(FORGED)) }], FORGED],
  ['a resolver that never settles', 'user', [{ kind: 'user', resolve: neverSettles }], NEVER_SETTLED],
  ['the address of a chain, which never settles', 'client', [{ kind: 'ip', resolve: neverSettles }], NEVER_SETTLED],
];

describe('a request without the identity that a policy counts', () => {
  /** Sends a request without an identity; returns its status and the identity tags that the store was asked for. */
  async function withoutIdentity(
    by: PolicyBy,
    identity: readonly IdentityResolver[] | undefined,
    module: Partial<RateLimitModuleOptions>,
    policy: Partial<Policy> = {},
  ): Promise<{ status: number; asked: string[]; app: HttpApp }> {
    const store = new StillStore();
    const options = { store, identity: identity ?? FROM_HEADERS, ...module };
    await using app = await limited('Express', routeWith({ ...policy, by }), options);
    const reply = await app.send('/');
    const asked = store.keys.map((key) => key.replace(/^rl:\{(.*)\}.*$/, '$1'));
    return { status: reply.status, asked, app };
  }

  it.each(WITHOUT_IDENTITY)(
    "counts by its address, is answered 401 with 'reject', and is a logged 500 with 'throw': %s",
    async (_, by, identity, reason = '', warning = '') => {
      @Controller()
      class Three {
        @Get('ip')
        @RateLimit({ ...BUCKET, by })
        counted(): void {}

        @Get('reject')
        @RateLimit({ ...BUCKET, by, onMissingIdentity: 'reject' })
        refused(): void {}

        @Get('throw')
        @RateLimit({ ...BUCKET, by, onMissingIdentity: 'throw' })
        thrown(): void {}
      }
      const store = new StillStore();
      await using app = await limited('Express', Three, { store, identity: identity ?? FROM_HEADERS });
      expect((await app.send('/ip')).status).toBe(200);
      expect(store.keys).toEqual([expect.stringMatching(/^rl:\{ip:127\.0\.0\.1\}:GET \/ip:/)]);
      const failed = app.logs.of('warn').map((text) => [text.split(':')[0], text.includes(reason || warning)]);
      const begins = reason === '' ? 'Three.counted' : "An identity function failed (policy 'rider')";
      expect(failed).toEqual(reason + warning === '' ? [] : [[begins, true]]);

      const refused = await app.send('/reject');
      expect([refused.status, limitHeaders(refused)]).toEqual([401, []]);
      expect(refused.body).toEqual({
        statusCode: 401,
        error: 'rate_limit_identity_missing',
        message: 'The request has no identity that the rate limit counts',
        policy: 'rider',
      });

      const thrown = await app.send('/throw');
      expect([thrown.status, limitHeaders(thrown), store.asked.length]).toEqual([500, [], 1]);
      expect(thrown.text).not.toContain('forged');
      const [error] = app.logs.of('error');
      expect(error).toContain(`no identity to count by ${typeof by === 'string' ? `'${by}'` : 'a function'}, `);
      expect(error).toContain("onMissingIdentity is 'throw': let authentication run before");
    },
  );

  it('is logged once a second at most, and counted, where a function fails', async () => {
    const by = failing(new Error(FORGED));
    await using app = await limited('Express', routeWith({ by }), { store: new StillStore() });
    const since = performance.now();
    await app.crowd(20, '/');
    expectRationed(app.logs.of('warn'), since);
    expect(app.app.get(RateLimiter).stats().functionFailures.identity).toBe(20);
  });

  it.each<[OnMissingIdentity | undefined, OnMissingIdentity | undefined, number]>([
    [undefined, 'reject', 401],
    ['reject', 'ip', 200],
    ['ip', 'throw', 500],
  ])('with %s in the module and %s in the policy is answered %d', async (module, policy, expected) => {
    const options = module === undefined ? {} : { onMissingIdentity: module };
    const { status } = await withoutIdentity('user', undefined, options, { onMissingIdentity: policy! });
    expect(status).toBe(expected);
  });

  it('charges none of its policies when one of them answers 401', async () => {
    @Controller()
    class Both {
      @Get()
      @RateLimit({ ...BUCKET, name: 'address', by: 'ip' }, { ...BUCKET, by: 'user', onMissingIdentity: 'reject' })
      get(): void {}
    }
    const store = new StillStore();
    await using app = await limited('Express', Both, { store, identity: FROM_HEADERS });
    expect((await app.send('/')).status).toBe(401);
    expect(store.asked).toEqual([]);
    expect((await app.as('ada', '/')).status).toBe(200);
  });

  it.each(PLATFORMS)('reaches a filter for UnauthorizedException over %s', async (platform) => {
    const caught: unknown[] = [];
    @Catch(UnauthorizedException)
    class Filter extends BaseExceptionFilter {
      override catch(exception: UnauthorizedException, host: ArgumentsHost): void {
        caught.push(exception);
        super.catch(exception, host);
      }
    }
    await using app = await start(platform, {
      imports: [
        RateLimitModule.forRoot({ store: new StillStore(), identity: FROM_HEADERS, onMissingIdentity: 'reject' }),
      ],
      controllers: [routeWith({ by: 'user' })],
      providers: [{ provide: APP_FILTER, useClass: Filter }],
    });
    expect((await app.send('/')).status).toBe(401);
    expect(caught).toEqual([expect.any(RateLimitIdentityMissingException)]);
    expect(caught).toMatchObject([{ policy: 'rider' }]);
  });

  it('shows no API key in errors, logs and headers', async () => {
    const headers = { 'X-API-Key': SECRET, Authorization: `Bearer ${SECRET}` };
    const everything: string[] = [];
    for (const by of [
      'user',
      failing(new Error('forged')),
      (() => ({ kind: 'api-key', value: { token: SECRET } })) as unknown as PolicyBy,
      () => ({ kind: `key ${SECRET}`, value: 'x' }),
      (() => SECRET) as unknown as PolicyBy,
    ] as PolicyBy[]) {
      const options = { store: new StillStore(), identity: FROM_HEADERS, onMissingIdentity: 'throw' } as const;
      await using app = await limited('Express', routeWith({ by }), options);
      const reply = await app.send('/', { headers });
      expect(reply.status).toBe(500);
      everything.push(reply.text, JSON.stringify(reply.headers), app.logs.text);
    }
    expect(everything.join('\n')).not.toContain(SECRET);
  });
});

it.each<[unknown, string]>([
  ['refused', "'refused'"],
  [null, 'null'],
  [{}, 'an object'],
])(
  'onMissingIdentity stops the boot when it is %p, with a message that lists the valid values',
  async (given, shown) => {
    const problem = `onMissingIdentity must be one of 'ip', 'reject', 'throw', got ${shown}`;
    const onMissingIdentity = given as OnMissingIdentity;
    const module = limited('Express', routeWith({}), { onMissingIdentity });
    await expect(module).rejects.toThrow(`RateLimitModule: ${problem}`);
    const policy = limited('Express', routeWith({ onMissingIdentity }));
    await expect(policy).rejects.toThrow(`Rides.get, @RateLimit: ${problem}`);
  },
);
