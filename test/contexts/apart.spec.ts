import { status } from '@grpc/grpc-js';
import { Controller } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { GrpcMethod } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { codes, DRIVERS as GRAPHQL } from './support/graphql-app.js';
import { GrpcApp } from './support/grpc-app.js';
import { begin } from './support/riders.js';
import { ask, DRIVERS as SOCKETS, SocketApp } from './support/socket-app.js';

jest.setTimeout(30_000); // applications boot and answer in real time, and the machine may be busy

const TWO: Policy = { name: 'two', algorithm: 'fixed-window', limit: 2, window: '1h' };
const SHADOWS: Policy[] = [
  { ...TWO, name: 'tight', limit: 1, mode: 'shadow' },
  { name: 'queue', algorithm: 'leaky-bucket', capacity: 9, drain: '1/h', mode: 'shadow' },
  { name: 'one', algorithm: 'concurrency', limit: 1, lease: '30s', mode: 'shadow' },
];
const BLOCKED = 'Requests from this address are blocked';

@Resolver()
@Controller()
class Riders {
  @Query(() => Int)
  @GrpcMethod('Rides', 'Quote')
  @RateLimit(TWO)
  rider(): number {
    return 1;
  }
}

it.each(GRAPHQL)('with %s, policies in shadow change no byte of an answer', async (driver) => {
  jest.spyOn(Date, 'now').mockReturnValue(Date.UTC(2024, 0, 1));
  @Resolver()
  class Shadowed {
    @Query(() => Int)
    @RateLimit(TWO, ...SHADOWS)
    rider(): number {
      return 1;
    }
  }
  const answers: unknown[][] = [];
  let shadows: unknown;
  for (const resolver of [Riders, Shadowed]) {
    await using app = await begin(driver, {}, {}, [resolver]);
    const all: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const response = await app.post({ query: '{ rider }' });
      const headers = [...response.headers].filter(([name]) => name !== 'date');
      // A stack trace of Apollo names lines of Jest's own.
      const text = (await response.text()).replace(/,"stacktrace":\[.*?\]/, '');
      all.push([response.status, headers, text]);
    }
    answers.push(all);
    shadows = app.http.app.get(RateLimiter).stats().shadows;
  }
  expect(answers[1]).toEqual(answers[0]);
  expect(JSON.stringify(answers[0]![2])).toContain('RATE_LIMITED');
  expect(shadows).toMatchObject([
    { policy: 'tight', requests: 3, allowed: 1, rejected: 2 },
    { policy: 'queue', requests: 3, allowed: 2, rejected: 0 },
    { policy: 'one', requests: 3, rejected: 0 },
  ]);
});

it.each(GRAPHQL)('with %s, an address in blockList is forbidden, and nothing is charged', async (driver) => {
  const store = new StillStore();
  await using app = await begin(driver, { store, blockList: ['127.0.0.0/8', '::1'] }, {}, [Riders]);
  expect(codes(await app.ask('{ rider }'))).toEqual(['FORBIDDEN']);
  expect(store.asked).toEqual([]);
});

it('over gRPC, an address in blockList is denied, and nothing is charged', async () => {
  const store = new StillStore();
  const imports = [RateLimitModule.forRoot({ store, blockList: ['127.0.0.1'] })];
  await using app = await GrpcApp.start({ imports, controllers: [Riders] });
  const { error } = await app.client.ask('Quote');
  expect([error!.code, error!.details]).toEqual([status.PERMISSION_DENIED, BLOCKED]);
  expect(error!.metadata.get('retry-after')).toEqual([]);
  expect(store.asked).toEqual([]);
});

it.each(SOCKETS)(
  'over %s, messages of an address in blockList are rejected, and connections turned away',
  async (driver) => {
    const exception = {
      event: 'exception',
      data: { statusCode: 403, error: 'rate_limit_address_blocked', message: BLOCKED },
    };
    @WebSocketGateway()
    class Messages {
      readonly opened: string[] = [];

      @SubscribeMessage('say')
      @RateLimit(TWO)
      say(): unknown {
        return { event: 'said', data: 0 };
      }
    }
    @WebSocketGateway()
    class Doors extends Messages {
      handleConnection(): void {
        this.opened.push('client');
      }
    }
    const store = new StillStore();
    const lists = { store, blockList: ['192.0.2.0/24'] };
    await using app = await SocketApp.start(driver, Messages, lists, { trustProxy: true });
    expect(await ask(await app.connect({ 'X-Forwarded-For': '192.0.2.7' }), 'say')).toEqual(exception);
    await using doors = await SocketApp.start(driver, Doors, lists, { trustProxy: true });
    const turnedAway = await doors.connect({ 'X-Forwarded-For': '192.0.2.7' });
    expect(await turnedAway.next()).toEqual(exception);
    await turnedAway.closed;
    expect(store.asked).toEqual([]);
    const welcome = await doors.connect({ 'X-Forwarded-For': '198.51.100.7' });
    expect(await ask(welcome, 'say')).toEqual({ event: 'said', data: 0 });
    expect(doors.http.app.get(Doors).opened).toEqual(['client']);
  },
);
