import { HttpException, UseGuards } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { describe, expect, it } from '@jest/globals';
import { GraphQLError } from 'graphql';
import { RateLimit, RateLimitGuard, SkipRateLimit } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { ToldStore } from '../support/told-store.js';
import { APOLLO_STATUS, codes, DRIVERS, type Driver, type GraphqlSettings } from './support/graphql-app.js';
import { aliases, begin, TWENTY } from './support/riders.js';

describe.each(DRIVERS)('with %s', (driver) => {
  it('an operation is rejected on its 21st call, by GET as well, with a code and the time to wait', async () => {
    await using app = await begin(driver);
    for (let i = 0; i < 20; i++)
      expect((await app.ask('mutation { login(password: "abc") }')).data).toEqual({ login: 3 });
    const { data, errors, headers } = await app.ask('mutation { login(password: "abc") }');
    expect(data).toBeNull();
    expect(errors).toEqual([
      expect.objectContaining({
        message: 'Too many requests, retry in 3600 seconds',
        path: ['login'],
        extensions: expect.objectContaining({
          code: 'RATE_LIMITED',
          retryAfter: 3600,
          retryAfterMs: 3_600_000,
          policy: 'twenty',
        }) as unknown,
      }),
    ]);
    expect(headers.get('retry-after')).toBe('3600');
    for (let i = 0; i < 20; i++) expect((await app.get('{ rider(id: 1) { id } }')).data).toEqual({ rider: { id: 1 } });
    expect(codes(await app.get('query Other { rider(id: 2) { id } }'))).toEqual(['RATE_LIMITED']);
    expect((await app.ask('{ __typename }')).data).toEqual({ __typename: 'Query' });
    expect(app.http.logs.of('error')).toEqual([]);
  });

  it('a formatter that shows HttpException alone, and masks the rest, shows a rejection', async () => {
    const shownOf = (error: unknown): string => {
      const { originalError } = error as { readonly originalError?: unknown };
      if (!(originalError instanceof HttpException)) return 'Internal server error';
      return `${originalError.getStatus()}: ${JSON.stringify(originalError.getResponse())}`;
    };
    await using app = await begin(
      driver,
      {},
      {
        apollo: { formatError: ({ extensions }, error) => ({ message: shownOf(error), extensions: extensions! }) },
        mercurius: {
          errorFormatter: ({ errors }) => ({
            statusCode: 200,
            response: { data: null, errors: errors.map((error) => new GraphQLError(shownOf(error), error)) },
          }),
        },
      },
    );
    const { errors } = await app.ask(`mutation { ${aliases(21, 'login(password: "a")')} }`);
    expect(errors).toEqual([
      expect.objectContaining({
        message: '429: "Too many requests, retry in 3600 seconds"',
        extensions: expect.objectContaining({ code: 'RATE_LIMITED', retryAfter: 3600 }) as unknown,
      }),
    ]);
  });

  it('defaults reach resolvers, @SkipRateLimit leaves them out, and guards that are bound twice count once', async () => {
    @Resolver()
    @UseGuards(RateLimitGuard)
    class Twice {
      @Query(() => Int)
      @UseGuards(RateLimitGuard)
      counted(): number {
        return 1;
      }

      @Query(() => Int)
      @SkipRateLimit()
      free(): number {
        return 2;
      }
    }
    const store = new StillStore();
    await using app = await begin(driver, { store, defaults: [{ ...TWENTY, limit: 2 }] }, {}, [Twice]);
    expect((await app.ask('{ counted free }')).data).toEqual({ counted: 1, free: 2 });
    expect(store.asked).toHaveLength(1);
    await app.ask('{ counted }');
    const { data, errors } = await app.ask('{ counted }');
    expect([data, errors?.length]).toEqual([null, 1]);
    expect((await app.ask('{ free }')).data).toEqual({ free: 2 });
  });

  it('a missing identity and an unavailable store have errors of their own', async () => {
    @Resolver()
    class Strict {
      @Query(() => Int)
      @RateLimit({ ...TWENTY, by: 'user', onMissingIdentity: 'reject' })
      user(): number {
        return 1;
      }
    }
    await using app = await begin(driver, {}, {}, [Strict]);
    const { errors } = await app.ask('{ user }');
    expect(errors).toEqual([
      expect.objectContaining({ extensions: expect.objectContaining({ code: 'UNAUTHENTICATED', policy: 'twenty' }) }),
    ]);
    await using broken = await begin(driver, { store: ToldStore.failing(), onStoreFailure: 'closed' });
    const outage = await broken.ask('{ first }');
    expect(outage.errors).toEqual([
      expect.objectContaining({
        extensions: expect.objectContaining({ code: 'RATE_LIMIT_UNAVAILABLE', retryAfter: 1 }),
      }),
    ]);
  });
});

describe('the HTTP answer', () => {
  const login = 'mutation { login(password: "a") }';
  const rejected = async (driver: Driver, settings?: GraphqlSettings) => {
    await using app = await begin(driver, {}, settings);
    const passed = await app.ask(login);
    expect([passed.status, passed.data]).toEqual([200, { login: 1 }]);
    const reply = await app.ask(`mutation { ${aliases(21, 'login(password: "a")')} }`);
    expect(codes(reply)).toContain('RATE_LIMITED');
    const { status, headers, errors } = reply;
    return { status, retryAfter: headers.get('retry-after'), http: errors![0]!.extensions!['http'] };
  };

  it("is 200 by Nest's choice with Apollo, and 429 by the application's", async () => {
    expect(await rejected('Apollo over Express')).toEqual({
      status: APOLLO_STATUS,
      retryAfter: '3600',
      http: undefined,
    });
    const apollo = { preserveHttpStatusForExecutionErrors: false };
    expect(await rejected('Apollo over Express', { apollo })).toMatchObject({ status: 429, retryAfter: '3600' });
  });

  it.each<[string, (request: object, reply: object) => object]>([
    ['the reply', (req, reply) => ({ req, reply })],
    ['the request alone', (req) => ({ req })],
    ['the request under another name', (request) => ({ request })],
  ])('has headers over Fastify where the context has %s', async (_, context) => {
    expect(await rejected('Apollo over Fastify', { apollo: { context } })).toMatchObject({
      status: APOLLO_STATUS,
      retryAfter: '3600',
    });
  });

  it('is 429 with Mercurius where there is no data', async () => {
    expect(await rejected('Mercurius')).toMatchObject({ status: 429, retryAfter: '3600' });
  });
});
