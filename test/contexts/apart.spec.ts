import { type Metadata, status } from '@grpc/grpc-js';
import { Controller } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { GrpcMethod } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { codes, DRIVERS as GRAPHQL, startGraphql } from './support/graphql-app.js';
import { GrpcApp } from './support/grpc-app.js';
import { ask, DRIVERS as SOCKETS, SocketApp } from './support/socket-app.js';

jest.setTimeout(30_000); // applications boot and answer in real time, and the machine may be busy

const TWO: Policy = { name: 'two', algorithm: 'fixed-window', limit: 2, window: '1h' };
const SHADOWS: Policy[] = [
  { ...TWO, name: 'tight', limit: 1, mode: 'shadow' },
  { name: 'queue', algorithm: 'leaky-bucket', capacity: 9, drain: '1/h', mode: 'shadow' },
  { name: 'one', algorithm: 'concurrency', limit: 1, lease: '30s', mode: 'shadow' },
];

/** Handlers of each context, with and without shadows. */
function handlers(shadows: readonly Policy[]) {
  const policies = [TWO, ...shadows] as unknown as [Policy];

  @Resolver()
  class Riders {
    @Query(() => Int)
    @RateLimit(...policies)
    rider(): number {
      return 1;
    }
  }

  @Controller()
  class Rides {
    @GrpcMethod()
    @RateLimit(...policies)
    quote(): { cents: number } {
      return { cents: 200 };
    }
  }

  @WebSocketGateway()
  class Doors {
    @SubscribeMessage('say')
    @RateLimit(...policies)
    say(): unknown {
      return { event: 'said', data: 0 };
    }
  }
  return { Riders, Rides, Doors };
}

const limits = (options: RateLimitModuleOptions = {}) => [
  RateLimitModule.forRoot({ store: new StillStore(), ...options }),
];

/** What all shadows of an application have said of three requests, of which the policy admitted two. */
const SAID = [
  { policy: 'tight', requests: 3, allowed: 1, rejected: 2 },
  { policy: 'queue', requests: 3, allowed: 2, rejected: 0 },
  { policy: 'one', requests: 3, rejected: 0 },
];

describe.each(GRAPHQL)('over GraphQL with %s', (driver) => {
  const open = (shadows: readonly Policy[], options?: RateLimitModuleOptions) =>
    startGraphql(driver, { imports: limits(options), providers: [handlers(shadows).Riders] });

  it('policies in shadow change no byte of an answer', async () => {
    jest.spyOn(Date, 'now').mockReturnValue(Date.UTC(2024, 0, 1));
    const answers: unknown[] = [];
    let said: unknown;
    for (const shadows of [[], SHADOWS]) {
      await using app = await open(shadows);
      const all: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        const response = await app.post({ query: '{ rider }' });
        const headers = [...response.headers].filter(([name]) => name !== 'date');
        // A stack trace of Apollo names lines of Jest's own.
        const text = (await response.text()).replace(/,"stacktrace":\[.*?\]/, '');
        all.push([response.status, headers, text]);
      }
      answers.push(all);
      said = app.http.app.get(RateLimiter).stats().shadows;
    }
    jest.restoreAllMocks();
    expect(answers[1]).toEqual(answers[0]);
    expect(said).toMatchObject(SAID);
    expect(JSON.stringify(answers[0])).toContain('RATE_LIMITED');
  });

  it('an address in blockList is forbidden, and nothing is charged', async () => {
    const store = new StillStore();
    await using app = await open([], { store, blockList: ['127.0.0.0/8', '::1'] });
    expect(codes(await app.ask('{ rider }'))).toEqual(['FORBIDDEN']);
    expect(store.asked).toEqual([]);
    await using allowed = await open([], { blockList: ['127.0.0.1'], allowList: ['127.0.0.0/8'] });
    for (let i = 0; i < 3; i++) expect((await allowed.ask('{ rider }')).data).toEqual({ rider: 1 });
  });
});

describe('over gRPC', () => {
  const open = (shadows: readonly Policy[], options?: RateLimitModuleOptions) =>
    GrpcApp.start({ imports: limits(options), controllers: [handlers(shadows).Rides] });

  it('policies in shadow change no byte of an answer, nor of its trailers', async () => {
    const trailers = (metadata: Metadata | undefined): unknown => {
      const { date: _, ...rest } = metadata?.toHttp2Headers() ?? {};
      return rest;
    };
    const answers: unknown[] = [];
    let said: unknown;
    for (const shadows of [[], SHADOWS]) {
      await using app = await open(shadows);
      const all: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        const { answers: got, error } = await app.client.ask('Quote');
        all.push([got, error?.code, error?.details, trailers(error?.metadata)]);
      }
      answers.push(all);
      said = app.app.get(RateLimiter).stats().shadows;
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(said).toMatchObject(SAID);
    expect((answers[0] as unknown[][]).map((answer) => answer.slice(0, 2))).toEqual([
      [[{ cents: 200 }], undefined],
      [[{ cents: 200 }], undefined],
      [[], status.RESOURCE_EXHAUSTED],
    ]);
  });

  it('an address in blockList is denied, and nothing is charged', async () => {
    const store = new StillStore();
    await using app = await open([], { store, blockList: ['127.0.0.1'] });
    const { error } = await app.client.ask('Quote');
    expect([error!.code, error!.details]).toEqual([status.PERMISSION_DENIED, 'Requests from this address are blocked']);
    expect(error!.metadata.get('retry-after')).toEqual([]);
    expect(store.asked).toEqual([]);
  });
});

describe.each(SOCKETS)('over %s', (driver) => {
  it('policies in shadow change nothing of what a client is told', async () => {
    const answers: unknown[] = [];
    let said: unknown;
    for (const shadows of [[], SHADOWS]) {
      await using app = await SocketApp.start(driver, handlers(shadows).Doors, { store: new StillStore() });
      const client = await app.connect();
      for (let i = 0; i < 3; i++) await ask(client, 'say');
      answers.push(client.said);
      said = app.http.app.get(RateLimiter).stats().shadows;
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(said).toMatchObject(SAID);
    expect(answers[0]).toMatchObject([{ event: 'said' }, { event: 'said' }, { event: 'exception' }]);
  });

  it('messages of an address in blockList are rejected, and connections are turned away, limited or not', async () => {
    const BODY = {
      statusCode: 403,
      error: 'rate_limit_address_blocked',
      message: 'Requests from this address are blocked',
    };
    const opened: string[] = [];
    @WebSocketGateway()
    class Unlimited {
      handleConnection(): void {
        opened.push('client');
      }

      @SubscribeMessage('say')
      say(): unknown {
        return { event: 'said', data: 0 };
      }
    }
    const store = new StillStore();
    const lists = { store, blockList: ['192.0.2.0/24'] };
    await using app = await SocketApp.start(driver, handlers([]).Doors, lists, { trustProxy: true });
    const client = await app.connect({ 'X-Forwarded-For': '192.0.2.7' });
    expect(await ask(client, 'say')).toEqual({ event: 'exception', data: BODY });
    expect(store.asked).toEqual([]);
    await using doors = await SocketApp.start(driver, Unlimited, lists, { trustProxy: true });
    const turnedAway = await doors.connect({ 'X-Forwarded-For': '192.0.2.7' });
    expect(await turnedAway.next()).toEqual({ event: 'exception', data: BODY });
    await turnedAway.closed;
    expect(opened).toEqual([]);
    const welcome = await doors.connect({ 'X-Forwarded-For': '198.51.100.7' });
    expect(await ask(welcome, 'say')).toEqual({ event: 'said', data: 0 });
    expect(opened).toEqual(['client']);
  });
});
