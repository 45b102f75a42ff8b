import { Controller, type ExecutionContext, Post, Req } from '@nestjs/common';
import { Context, Int, Query, Resolver, Subscription } from '@nestjs/graphql';
import { GrpcMethod, MessagePattern } from '@nestjs/microservices';
import { ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { createClient } from 'graphql-ws';
import { expect, it } from '@jest/globals';
import {
  ipIdentity,
  type Policy,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { WebSocket } from 'ws';
import { limited, PLATFORMS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { DRIVERS as GRAPHQL_DRIVERS } from './support/graphql-app.js';
import { GrpcApp } from './support/grpc-app.js';
import { MessageApp } from './support/message-app.js';
import { begin } from './support/riders.js';
import { ask, DRIVERS as SOCKET_DRIVERS, SocketApp } from './support/socket-app.js';

// docs/contexts.md, "Read the request", is the table that these tests prove.

type Given = readonly [request: RateLimitRequest, context: ExecutionContext];

/** The functions of an application that get a request and its context. */
const FUNCTIONS = ['allowList', 'blockList', 'choose', 'skipIf', 'by', 'resolve', 'cost', 'timeZone', 'plan'] as const;

const WINDOW = { algorithm: 'fixed-window', limit: 20, window: '1h' } as const;
const ACME = { headers: { 'x-tenant': 'acme' }, ip: '127.0.0.1' };
const FORGED = { headers: { 'x-tenant': 'globex' }, user: { id: 'mallory' } };

/** Options with each of the functions, and what they were given. */
class Noted {
  readonly options: RateLimitModuleOptions;
  readonly given = new Map<string, Given>();

  constructor() {
    const noted =
      <T>(name: (typeof FUNCTIONS)[number], answer: T) =>
      (...given: Given): T => {
        this.given.set(name, given);
        return answer;
      };
    const daily: Policy = {
      ...WINDOW,
      name: 'daily',
      window: { calendar: 'day', timeZone: noted('timeZone', 'Asia/Tokyo') },
      by: noted('by', { kind: 'tenant', value: 'acme' }),
      cost: noted('cost', 2),
      skipIf: noted('skipIf', false),
      plans: { pro: { limit: 30 } },
    };
    const [allowed, blocked] = [noted('allowList', false), noted('blockList', false)];
    this.options = {
      store: new StillStore(),
      allowList: (_address, ...given) => allowed(...given),
      blockList: (_address, ...given) => blocked(...given),
      identity: [{ kind: 'user', resolve: noted('resolve', 'ada') }, ipIdentity()],
      plan: { resolve: noted('plan', 'pro') },
      defaults: [
        { choose: noted('choose', daily), fallback: 'mine' },
        { ...WINDOW, name: 'rides', by: 'user' },
      ],
      policies: { mine: WINDOW },
    };
  }
}

/** What all functions got, for the handler `ride`. */
function givenTo({ given }: Noted): { readonly request: RateLimitRequest; readonly context: ExecutionContext } {
  const [request, context] = given.get('choose')!;
  // A request over something without an address is in neither list.
  const asked = FUNCTIONS.filter((name) => request.ip !== undefined || !name.endsWith('List'));
  expect([...given.keys()].toSorted()).toEqual(asked.toSorted());
  for (const [same, own] of given.values()) {
    expect(same).toBe(request);
    expect(own.getHandler().name).toBe('ride');
    expect(own.switchToHttp().getRequest<unknown>()).toBe(request);
  }
  return { request, context };
}

it.each(PLATFORMS)(
  'over %s, functions get the request of the platform, and before routing a placeholder for the handler',
  async (platform) => {
    let seen: unknown;
    @Controller('rides')
    class Rides {
      @Post(':city')
      ride(@Req() given: unknown): string {
        seen = given;
        return 'rode';
      }
    }
    const noted = new Noted();
    let before: Given | undefined;
    const middleware = [{ ...WINDOW, name: 'all', cost: (...given: Given) => (before = given).length }];
    await using app = await limited(platform, Rides, noted.options);
    await using early = await limited(platform, Rides, { middleware });
    for (const each of [early, app])
      await each.send('/rides/oslo?seats=2', { method: 'POST', headers: { 'X-Tenant': 'acme' } });
    const { request, context } = givenTo(noted);
    expect(request).toBe(seen);
    const sent = { ...ACME, method: 'POST', url: '/rides/oslo?seats=2' };
    expect(request).toMatchObject({ ...sent, params: { city: 'oslo' }, query: { seats: '2' } });
    expect(context.getType()).toBe('http');
    expect(before![0]).toMatchObject(sent);
    expect(before![1].switchToHttp().getRequest<unknown>()).toBe(before![0]);
    expect(before![1].getClass().name).toBe('RateLimitMiddleware');
  },
);

it.each(GRAPHQL_DRIVERS)('with %s, functions get the HTTP request that brings an operation', async (driver) => {
  let seen: unknown;
  @Resolver()
  class Rides {
    @Query(() => Int)
    ride(@Context() { req, reply }: { req?: unknown; reply?: { request: unknown } }): number {
      seen = driver === 'Mercurius' ? reply!.request : req;
      return 1;
    }
  }
  const noted = new Noted();
  await using app = await begin(driver, noted.options, {}, [Rides]);
  expect(await app.ask('{ ride }', { 'x-tenant': 'acme' })).toMatchObject({ data: { ride: 1 } });
  const { request, context } = givenTo(noted);
  expect(request).toBe(seen);
  expect(request).toMatchObject({ ...ACME, method: 'POST', body: { query: '{ ride }' } });
  expect(context.getType<string>()).toBe('graphql');
});

it.each(GRAPHQL_DRIVERS)(
  'with %s, functions get the request that opened the WebSocket of an operation, whose headers are text',
  async (driver) => {
    @Resolver()
    class Rides {
      @Query(() => Int)
      none(): number {
        return 0;
      }

      @Subscription(() => Int)
      async *ride(): AsyncGenerator<{ ride: number }> {
        yield { ride: 1 };
      }
    }
    const noted = new Noted();
    const settings = {
      apollo: { subscriptions: { 'graphql-ws': true } },
      mercurius: { subscription: { fullWsTransport: true } },
    };
    await using app = await begin(driver, noted.options, settings, [Rides]);
    const client = createClient({
      url: `${app.url.replace('http', 'ws')}?token=of-ada`,
      webSocketImpl: class extends WebSocket {
        constructor(url: string, protocols: string) {
          // Node's server joins or keeps repeated headers by their name.
          const headers = {
            'x-tenant': ['acme', 'other'],
            authorization: ['Bearer a', 'Bearer b'],
            cookie: 'a=1; b=2',
          };
          super(url, protocols, { headers: headers as unknown as Record<string, string> });
        }
      },
      retryAttempts: 0,
      connectionParams: { 'x-tenant': 'globex' },
    });
    for await (const result of client.iterate({ query: 'subscription { ride }' }))
      expect(result.errors).toBeUndefined();
    expect(givenTo(noted).request).toMatchObject({
      headers: { 'x-tenant': 'acme, other', authorization: 'Bearer a', cookie: 'a=1; b=2' },
      ip: '127.0.0.1',
      method: 'GET',
      url: '/graphql?token=of-ada',
    });
    await client.dispose();
  },
);

it.each(SOCKET_DRIVERS)(
  'over %s, functions get the members of the request that opened the connection',
  async (driver) => {
    let seen: unknown[] = [];
    @WebSocketGateway()
    class Rides {
      @SubscribeMessage('ride')
      ride(@ConnectedSocket() client: unknown, @MessageBody() body: unknown): unknown {
        seen = [client, body];
        return { event: 'rode', data: 1 };
      }
    }
    const noted = new Noted();
    await using app = await SocketApp.start(driver, Rides, noted.options);
    expect(await ask(await app.connect({ 'X-Tenant': 'acme' }), 'ride', FORGED)).toEqual({ event: 'rode', data: 1 });
    const { request, context } = givenTo(noted);
    const url = expect.stringMatching(driver === 'ws' ? /^\/$/ : /^\/socket\.io\/\?/);
    expect(request).toMatchObject({ ...ACME, method: 'GET', url, user: undefined });
    expect({ ...request }).toMatchObject(ACME);
    expect([context.switchToWs().getClient<unknown>(), context.switchToWs().getData<unknown>()]).toEqual(seen);
  },
);

@Controller()
class Calls {
  @MessagePattern('ride')
  ride(): { cents: number } {
    return { cents: 1 };
  }
}

@Controller()
class Quotes {
  @GrpcMethod('Rides', 'Quote')
  ride(): { cents: number } {
    return { cents: 1 };
  }
}

it('over TCP functions get empty headers and an address, without the payload', async () => {
  const noted = new Noted();
  const imports = [RateLimitModule.forRoot(noted.options)];
  await using app = await MessageApp.start({ imports, controllers: [Calls] });
  expect(await app.client.send('ride', FORGED)).toEqual({ answer: { cents: 1 } });
  const { headers, ip, body, user } = { ...givenTo(noted).request };
  expect({ headers, ip, body, user }).toEqual({ headers: {}, ip: '127.0.0.1', body: undefined, user: undefined });
  expect(givenTo(noted).context.switchToRpc().getData<unknown>()).toEqual(FORGED);
});

it('over gRPC functions get the metadata of the call as headers, without its message', async () => {
  const noted = new Noted();
  const imports = [RateLimitModule.forRoot(noted.options)];
  await using app = await GrpcApp.start({ imports, controllers: [Quotes] });
  expect((await app.client.ask('quote', { 'x-tenant': 'acme' })).answers).toEqual([{ cents: 1 }]);
  expect({ ...givenTo(noted).request }).toMatchObject(ACME);
  expect(givenTo(noted).request.body).toBeUndefined();
  expect(givenTo(noted).context.getArgByIndex<unknown>(0)).toEqual({ km: 2 });
});
