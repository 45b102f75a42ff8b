import { type ArgumentsHost, Catch, Controller, Get, UnauthorizedException } from '@nestjs/common';
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
import { unhandledRejections } from '../support/node-warnings.js';
import { expectRationed } from '../support/rationed.js';
import { StillStore } from '../support/still-store.js';
import {
  failing,
  FAILING,
  NO_IDENTITY,
  rejecting,
  routeWith,
  SECRET,
  BUCKET,
  WITHOUT_IDENTITY,
} from './support/identities.js';

describe.each(PLATFORMS)('a request without the identity that a policy counts, over %s', (platform) => {
  /** Sends a request without an identity; returns its status and the identity tags that the store was asked for. */
  async function withoutIdentity(
    by: PolicyBy,
    identity: readonly IdentityResolver[] | undefined,
    module: Partial<RateLimitModuleOptions>,
    policy: Partial<Policy> = {},
  ): Promise<{ status: number; asked: string[]; app: HttpApp; text: string; headers: string[] }> {
    const store = new StillStore();
    const options = { store, identity: identity ?? FROM_HEADERS, ...module };
    await using app = await limited(platform, routeWith({ ...policy, by }), options);
    const reply = await app.send('/');
    const asked = store.keys.map((key) => key.replace(/^rl:\{(.*)\}.*$/, '$1'));
    return { status: reply.status, asked, app, text: reply.text, headers: limitHeaders(reply) };
  }

  it.each(WITHOUT_IDENTITY)('counts by its address by default: %s', async (_, by, identity) => {
    for (const module of [{}, { onMissingIdentity: 'ip' }, { onMissingIdentity: undefined }] as const) {
      const { status, asked } = await withoutIdentity(by, identity, module);
      expect([status, asked]).toEqual([200, ['ip:127.0.0.1']]);
    }
  });

  it.each(WITHOUT_IDENTITY)("is answered 401 when onMissingIdentity is 'refuse': %s", async (_, by, identity) => {
    const { status, asked, text, headers, app } = await withoutIdentity(by, identity, { onMissingIdentity: 'refuse' });
    expect([status, asked, headers]).toEqual([401, [], []]);
    expect(JSON.parse(text)).toEqual({
      statusCode: 401,
      error: 'rate_limit_identity_missing',
      message: 'The request has no identity that the rate limit counts',
      policy: 'rider',
    });
    expect(app.logs.of('error')).toEqual([]);
  });

  it.each(WITHOUT_IDENTITY)("is a logged 500 when onMissingIdentity is 'throw': %s", async (_, by, identity) => {
    const { status, asked, text, headers, app } = await withoutIdentity(by, identity, { onMissingIdentity: 'throw' });
    expect([status, asked, headers]).toEqual([500, [], []]);
    expect(text).not.toContain('forged');
    expect(app.logs.of('error')).toHaveLength(1);
    const wanted = typeof by === 'string' ? `'${by}'` : 'a function';
    expect(app.logs.of('error')[0]).toContain(`policy 'rider': no identity to count by ${wanted}, `);
    expect(app.logs.of('error')[0]).toContain("onMissingIdentity is 'throw': let authentication run before");
  });

  it.each(FAILING)(
    'is logged once a second at most and counted when a function fails: %s',
    async (_, by, identity, reason) => {
      for (const onMissingIdentity of ['ip', 'refuse', 'throw'] as const) {
        const options = { store: new StillStore(), onMissingIdentity, identity: identity ?? FROM_HEADERS };
        await using app = await limited(platform, routeWith({ by }), options);
        const since = performance.now();
        await app.crowd(20, '/');
        const warning = expectRationed(app.logs.of('warn'), since);
        expect(warning).toMatch(/^An identity function failed \(policy 'rider'\)/);
        expect(warning).toContain(`: ${reason}`);
        expect(app.app.get(RateLimiter).stats().functionFailures.identity).toBe(20);
      }
    },
  );

  it.each(NO_IDENTITY)('brings no warning when no function fails: %s', async (_, by, identity) => {
    const { app } = await withoutIdentity(by, identity, {});
    // Boot warns of a chain that can never find users.
    const lacking = by === 'user' && identity?.every(({ kind }) => kind !== 'user') === true;
    const said = app.logs.of('warn').map((text) => text.replace(/, so the policy .*$/, ''));
    const lack =
      "Rides.get, @RateLimit: policy 'rider' counts by 'user', but no resolver of the module's identity finds users";
    expect(said).toEqual(lacking ? [lack] : []);
  });

  it.each<[OnMissingIdentity | undefined, OnMissingIdentity | undefined, number]>([
    [undefined, 'refuse', 401],
    ['refuse', 'ip', 200],
    ['refuse', undefined, 401],
    ['throw', 'refuse', 401],
    ['ip', 'throw', 500],
  ])('with %s in the module and %s in the policy is answered %d', async (module, policy, expected) => {
    const { status } = await withoutIdentity(
      'user',
      undefined,
      module === undefined ? {} : { onMissingIdentity: module },
      policy === undefined ? {} : { onMissingIdentity: policy },
    );
    expect(status).toBe(expected);
  });

  it("passes policies by 'ip', 'global' and 'client', which always have an identity", async () => {
    for (const by of ['ip', 'global', 'client'] as const) {
      const { status } = await withoutIdentity(by, undefined, { onMissingIdentity: 'throw' });
      expect([by, status]).toEqual([by, 200]);
    }
  });

  it('charges none of its policies when one of them answers 401', async () => {
    @Controller()
    class Both {
      @Get()
      @RateLimit({ ...BUCKET, name: 'address', by: 'ip' }, { ...BUCKET, by: 'user', onMissingIdentity: 'refuse' })
      get(): void {}
    }
    const store = new StillStore();
    await using app = await limited(platform, Both, { store, identity: FROM_HEADERS });
    for (let i = 0; i < 3; i++) expect((await app.send('/')).status).toBe(401);
    expect(store.asked).toEqual([]);
    expect((await app.as('ada', '/')).status).toBe(200);
  });

  it('has another key than users named undefined, null or like the address', async () => {
    const store = new StillStore();
    await using app = await limited(platform, routeWith({ by: 'user' }), { store, identity: FROM_HEADERS });
    await app.send('/');
    for (const name of ['undefined', 'null', '127.0.0.1', 'ip:127.0.0.1']) await app.as(name, '/');
    expect(store.keys).toHaveLength(5);
    expect(store.keys.filter((key) => key.startsWith('rl:{ip:'))).toHaveLength(1);
  });

  it('reaches a filter for UnauthorizedException', async () => {
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
        RateLimitModule.forRoot({ store: new StillStore(), identity: FROM_HEADERS, onMissingIdentity: 'refuse' }),
      ],
      controllers: [routeWith({ by: 'user' })],
      providers: [{ provide: APP_FILTER, useClass: Filter }],
    });
    await app.send('/');
    expect(caught).toEqual([expect.any(RateLimitIdentityMissingException)]);
    expect(caught).toMatchObject([{ policy: 'rider' }]);
  });

  it("counts by the address of the connection when the module's resolver for addresses fails", async () => {
    for (const resolve of [failing(new Error('no header')), rejecting(new Error('no header')), () => null]) {
      for (const by of ['ip', 'client', 'user'] as const) {
        const identity: IdentityResolver[] = [{ kind: 'ip', resolve }];
        const { status, asked } = await withoutIdentity(by, identity, {});
        expect([by, status, asked]).toEqual([by, 200, ['ip:127.0.0.1']]);
      }
    }
  });

  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['text', 'oops'],
    ['an object that is no text', Object.create(null)],
    ['a symbol', Symbol('oops')],
  ])('does not end the process when a function throws %s', async (_, thrown) => {
    for (const by of [failing(thrown), rejecting(thrown)] as PolicyBy[]) {
      const { status, asked, app } = await withoutIdentity(by, undefined, {});
      expect([status, asked]).toEqual([200, ['ip:127.0.0.1']]);
      expect(app.logs.of('warn')).toHaveLength(1);
    }
  });

  it('leaves no unhandled rejection when one of several functions throws and another one rejects', async () => {
    @Controller()
    class Several {
      @Get()
      @RateLimit(rejecting(new Error('first')), failing(new Error('second')))
      get(): void {}

      @Get('by')
      @RateLimit(
        { ...BUCKET, name: 'a', by: rejecting(new Error('first')) },
        { ...BUCKET, name: 'b', by: failing(new Error('second')) },
        { ...BUCKET, name: 'c', cost: failing(new Error('third')) },
      )
      by(): void {}
    }
    const unhandled = unhandledRejections();
    const store = new StillStore();
    await using app = await limited(platform, Several, { store });
    expect([(await app.send('/')).status, (await app.send('/by')).status]).toEqual([200, 200]);
    expect([await unhandled(), store.asked.map((charges) => charges.map(({ cost }) => cost))]).toEqual([
      [],
      [[1, 1, 1]],
    ]);
  });

  it('shows no API key in errors, logs and headers', async () => {
    const headers = { 'X-API-Key': SECRET, Authorization: `Bearer ${SECRET}` };
    const everything: string[] = [];
    for (const onMissingIdentity of ['ip', 'refuse', 'throw'] as const) {
      for (const by of [
        'user',
        'api-key',
        failing(new Error('forged')),
        rejecting(new Error('forged')),
        (() => ({ kind: 'api-key', value: { token: SECRET } })) as unknown as PolicyBy,
        () => ({ kind: `key ${SECRET}`, value: 'x' }),
        (() => SECRET) as unknown as PolicyBy,
      ] as PolicyBy[]) {
        await using app = await limited(platform, routeWith({ by }), {
          store: new StillStore(),
          identity: FROM_HEADERS,
          onMissingIdentity,
        });
        const reply = await app.send('/', { headers });
        everything.push(reply.text, JSON.stringify(reply.headers), app.logs.text);
      }
    }
    expect(everything.join('\n')).not.toContain(SECRET);
  });
});

describe.each(PLATFORMS)('onMissingIdentity over %s', (platform) => {
  it.each<[unknown, string]>([
    ['refused', "'refused'"],
    [null, 'null'],
    [true, 'true'],
    [{}, 'an object'],
  ])('stops the boot when it is %p, with a message that lists the valid values', async (given, shown) => {
    const problem = `onMissingIdentity must be one of 'ip', 'refuse', 'throw', got ${shown}`;
    const onMissingIdentity = given as OnMissingIdentity;
    await expect(limited(platform, routeWith({}), { onMissingIdentity })).rejects.toThrow(
      `RateLimitModule: ${problem}`,
    );
    await expect(limited(platform, routeWith({ onMissingIdentity }))).rejects.toThrow(
      `Rides.get, @RateLimit: ${problem}`,
    );
  });
});
