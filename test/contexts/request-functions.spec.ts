import { Controller, type ExecutionContext, Get, Injectable, Post, Req, SetMetadata, type Type } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { Context, Int, Query, Resolver, Subscription } from '@nestjs/graphql';
import { GrpcMethod, MessagePattern } from '@nestjs/microservices';
import { ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { createClient } from 'graphql-ws';
import { describe, expect, it } from '@jest/globals';
import {
  type ContextAdapter,
  ipIdentity,
  type Policy,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { WebSocket } from 'ws';
import { limited, PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { type Driver, DRIVERS as GRAPHQL_DRIVERS, startGraphql } from './support/graphql-app.js';
import { GrpcApp } from './support/grpc-app.js';
import { MessageApp } from './support/message-app.js';
import { ask, DRIVERS as SOCKET_DRIVERS, SocketApp } from './support/socket-app.js';

// docs/contexts.md, "Read the request", is the table that these tests prove.

type Given = readonly [request: RateLimitRequest, context: ExecutionContext];

/** The functions of an application that get a request and its context. */
const FUNCTIONS = ['allowList', 'blockList', 'choose', 'skipIf', 'by', 'resolve', 'cost', 'timeZone', 'plan'] as const;

/** Options with each of the functions, and what they were given. */
class Noted {
  readonly given = new Map<string, Given>();
  readonly options: RateLimitModuleOptions;

  constructor() {
    const noted =
      <T>(name: (typeof FUNCTIONS)[number], answer: T) =>
      (...given: Given): T => {
        this.given.set(name, given);
        return answer;
      };
    const daily: Policy = {
      name: 'daily',
      algorithm: 'fixed-window',
      limit: 20,
      window: { calendar: 'day', timeZone: noted('timeZone', 'Asia/Tokyo') },
      by: noted('by', { kind: 'tenant', value: 'acme' }),
      cost: noted('cost', 2),
      skipIf: noted('skipIf', false),
      plans: { pro: { limit: 30 } },
    };
    const allowed = noted('allowList', false);
    const blocked = noted('blockList', false);
    this.options = {
      store: new StillStore(),
      allowList: (_address, ...given) => allowed(...given),
      blockList: (_address, ...given) => blocked(...given),
      identity: [{ kind: 'user', resolve: noted('resolve', 'ada') }, ipIdentity()],
      plan: { resolve: noted('plan', 'pro') },
      defaults: [
        { choose: noted('choose', daily), fallback: 'mine' },
        { name: 'rides', algorithm: 'fixed-window', limit: 20, window: '1h', by: 'user' },
      ],
      policies: { mine: { algorithm: 'fixed-window', limit: 1, window: '1h' } },
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

describe.each(PLATFORMS)('over %s, functions get', (platform) => {
  it('the request of the platform, and its context', async () => {
    let request: unknown;

    @Controller('rides')
    class Rides {
      @Post(':city')
      ride(@Req() given: unknown): string {
        request = given;
        return 'rode';
      }
    }
    const noted = new Noted();
    await using app = await limited(platform, Rides, noted.options);
    expect((await app.send('/rides/oslo?seats=2', { method: 'POST', headers: { 'X-Tenant': 'acme' } })).status).toBe(
      201,
    );
    expect(givenTo(noted).request).toBe(request);
    expect(givenTo(noted).request).toMatchObject({
      headers: { 'x-tenant': 'acme' },
      ip: '127.0.0.1',
      method: 'POST',
      url: '/rides/oslo?seats=2',
      params: { city: 'oslo' },
      query: { seats: '2' },
    });
    expect(givenTo(noted).context.getType()).toBe('http');
  });

  it('the request before routing as well, in the middleware, with a placeholder for the handler', async () => {
    @Controller()
    class Rides {
      @Get()
      ride(): void {}
    }
    const given: Given[] = [];
    const cost = (...one: Given): number => given.push(one);
    await using app = await limited(platform, Rides, {
      middleware: [{ name: 'all', algorithm: 'fixed-window', limit: 20, window: '1h', cost }],
    });
    await app.send('/?seats=2', { headers: { 'X-Tenant': 'acme' } });
    const [[request, context]] = given as [Given];
    expect(request).toMatchObject({
      headers: { 'x-tenant': 'acme' },
      ip: '127.0.0.1',
      method: 'GET',
      url: '/?seats=2',
    });
    expect(context.switchToHttp().getRequest<unknown>()).toBe(request);
    expect(context.getClass().name).toBe('RateLimitMiddleware');
  });
});

describe.each(GRAPHQL_DRIVERS)('with %s, functions get', (driver) => {
  const begin = (resolver: Type, options: RateLimitModuleOptions) =>
    startGraphql(
      driver,
      { imports: [RateLimitModule.forRoot(options)], providers: [resolver] },
      { apollo: { subscriptions: { 'graphql-ws': true } }, mercurius: { subscription: { fullWsTransport: true } } },
    );

  it('the HTTP request that brings an operation', async () => {
    let request: unknown;

    @Resolver()
    class Rides {
      @Query(() => Int)
      ride(@Context() given: { req?: unknown; reply?: { request: unknown } }): number {
        request = requestIn(driver, given);
        return 1;
      }
    }
    const noted = new Noted();
    await using app = await begin(Rides, noted.options);
    expect(await app.ask('{ ride }', { 'x-tenant': 'acme' })).toMatchObject({ data: { ride: 1 } });
    expect(givenTo(noted).request).toBe(request);
    expect(givenTo(noted).request).toMatchObject({
      headers: { 'x-tenant': 'acme' },
      ip: '127.0.0.1',
      method: 'POST',
      body: { query: '{ ride }' },
    });
    expect(givenTo(noted).context.getType<string>()).toBe('graphql');
  });

  it('the request that opened the WebSocket of an operation, whose headers are text', async () => {
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
    await using app = await begin(Rides, noted.options);
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
  });
});

describe.each(SOCKET_DRIVERS)('over %s, functions get', (driver) => {
  it('the members of the request that opened the connection', async () => {
    let client: unknown;
    let message: unknown;

    @WebSocketGateway()
    class Rides {
      @SubscribeMessage('ride')
      ride(@ConnectedSocket() connected: unknown, @MessageBody() body: unknown): unknown {
        [client, message] = [connected, body];
        return { event: 'rode', data: 1 };
      }
    }
    const noted = new Noted();
    await using app = await SocketApp.start(driver, Rides, noted.options);
    const socket = await app.connect({ 'X-Tenant': 'acme' });
    const forged = { headers: { 'x-tenant': 'globex' }, user: { id: 'mallory' } };
    expect(await ask(socket, 'ride', forged)).toEqual({ event: 'rode', data: 1 });
    expect(givenTo(noted).request).toMatchObject({
      headers: { 'x-tenant': 'acme' },
      ip: '127.0.0.1',
      method: 'GET',
      url: expect.stringMatching(driver === 'ws' ? /^\/$/ : /^\/socket\.io\/\?/),
      user: undefined,
    });
    expect({ ...givenTo(noted).request }).toMatchObject({ headers: { 'x-tenant': 'acme' }, ip: '127.0.0.1' });
    expect(givenTo(noted).context.switchToWs().getClient<unknown>()).toBe(client);
    expect(givenTo(noted).context.switchToWs().getData<unknown>()).toEqual(message);
  });
});

it('over TCP functions get empty headers and an address, without the payload', async () => {
  @Controller()
  class Rides {
    @MessagePattern('ride')
    ride(): string {
      return 'rode';
    }
  }
  const noted = new Noted();
  await using app = await MessageApp.start({
    imports: [RateLimitModule.forRoot(noted.options)],
    controllers: [Rides],
  });
  const payload = { headers: { 'x-tenant': 'globex' }, user: { id: 'mallory' } };
  expect(await app.client.send('ride', payload)).toEqual({ answer: 'rode' });
  const { headers, ip, body, user } = { ...givenTo(noted).request };
  expect({ headers, ip, body, user }).toEqual({ headers: {}, ip: '127.0.0.1', body: undefined, user: undefined });
  expect(givenTo(noted).context.switchToRpc().getData<unknown>()).toEqual(payload);
});

it('over gRPC functions get the metadata of the call as headers, without its message', async () => {
  @Controller()
  class Rides {
    @GrpcMethod('Rides', 'Quote')
    ride(): { cents: number } {
      return { cents: 1 };
    }
  }
  const noted = new Noted();
  await using app = await GrpcApp.start({ imports: [RateLimitModule.forRoot(noted.options)], controllers: [Rides] });
  expect((await app.client.ask('quote', { 'x-tenant': 'acme' })).answers).toEqual([{ cents: 1 }]);
  expect(givenTo(noted).request).toMatchObject({ headers: { 'x-tenant': 'acme' }, ip: '127.0.0.1' });
  expect(Object.keys(givenTo(noted).request)).toEqual(expect.arrayContaining(['headers', 'ip']));
  expect(givenTo(noted).request.body).toBeUndefined();
  expect(givenTo(noted).context.getArgByIndex<unknown>(0)).toEqual({ km: 2 });
});

it("in a context of the application's own functions get what its adapter makes", async () => {
  @Injectable()
  class Jobs {
    @SetMetadata('job', true)
    ride(): string {
      return 'rode';
    }
  }
  const request = { headers: { 'x-tenant': 'acme' } };
  const adapter: ContextAdapter = {
    type: 'job',
    handlers: 'a job',
    place: 'providers',
    isHandler: (_, handler) => Reflect.hasMetadata('job', handler),
    request: () => request,
  };
  const noted = new Noted();
  const imports = [RateLimitModule.forRoot({ ...noted.options, contexts: [adapter] })];
  await using app = await start('Express', { imports, providers: [Jobs] });
  const jobs = app.app.get(Jobs);
  const none = undefined;
  const call = app.app
    .get(ExternalContextCreator)
    .create(jobs, Reflect.get(jobs, 'ride'), 'ride', none, none, none, none, none, 'job') as (
    job: object,
  ) => Promise<string>;
  const job = { id: 7 };
  expect(await call(job)).toBe('rode');
  expect(givenTo(noted).request).toBe(request);
  expect(givenTo(noted).context.getArgByIndex<unknown>(0)).toBe(job);
});

/** The request in GraphQL's context, where each driver puts it. */
function requestIn(driver: Driver, { req, reply }: { req?: unknown; reply?: { request: unknown } }): unknown {
  return driver === 'Mercurius' ? reply!.request : req;
}
