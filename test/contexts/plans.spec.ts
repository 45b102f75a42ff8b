import { Controller, type ExecutionContext } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import {
  type Policy,
  RateLimit,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { FROM_HEADERS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { codes, DRIVERS as GRAPHQL_DRIVERS, startGraphql } from './support/graphql-app.js';
import { MessageApp } from './support/message-app.js';
import { ask, DRIVERS as SOCKET_DRIVERS, SocketApp } from './support/socket-app.js';

const API = {
  name: 'api',
  algorithm: 'fixed-window',
  limit: 2,
  window: '1h',
  scope: 'app',
  plans: { pro: { limit: 5 } },
} as const satisfies Policy;

/** The plan of the user that the request's headers name, whatever stands for a request. */
async function planOf({ headers }: RateLimitRequest): Promise<string | undefined> {
  return headers['x-user-id'] === 'ada' ? 'pro' : undefined;
}

const OPTIONS: RateLimitModuleOptions = { identity: FROM_HEADERS, plan: { resolve: planOf } };

describe.each(GRAPHQL_DRIVERS)('a plan with %s', (driver) => {
  it('is the limit of its client, and resolvers of one operation are charged under it once', async () => {
    @Resolver()
    class Rides {
      @Query(() => Int)
      @RateLimit(API)
      first(): number {
        return 1;
      }

      @Query(() => Int)
      @RateLimit(API)
      second(): number {
        return 2;
      }
    }
    const imports = [RateLimitModule.forRoot({ store: new StillStore(), ...OPTIONS })];
    await using app = await startGraphql(driver, { imports, providers: [Rides] });
    for (const [user, limit] of [
      ['ada', 5],
      ['bo', 2],
    ] as const) {
      for (let i = 0; i < limit; i++) {
        expect((await app.ask('{ first second }', { 'x-user-id': user })).data).toEqual({ first: 1, second: 2 });
      }
      expect(codes(await app.ask('{ first }', { 'x-user-id': user }))).toEqual(['RATE_LIMITED']);
    }
  });
});

describe.each(SOCKET_DRIVERS)('a plan over %s', (driver) => {
  it('is the limit of its client', async () => {
    @WebSocketGateway()
    class Rides {
      @SubscribeMessage('ride')
      @RateLimit(API)
      ride(): { event: string; data: number } {
        return { event: 'rode', data: 1 };
      }
    }
    await using app = await SocketApp.start(driver, Rides, { store: new StillStore(), ...OPTIONS });
    for (const [user, limit] of [
      ['ada', 5],
      ['bo', 2],
    ] as const) {
      const client = await app.connect({ 'X-User-Id': user });
      for (let i = 0; i < limit; i++) expect(await ask(client, 'ride')).toMatchObject({ event: 'rode' });
      expect(await ask(client, 'ride')).toMatchObject({ event: 'exception' });
    }
  });
});

describe('a plan over TCP', () => {
  it('is the limit of its client', async () => {
    @Controller()
    class Rides {
      @MessagePattern('ride')
      @RateLimit({ ...API, by: (_, context) => ({ kind: 'user', value: context.switchToRpc().getData<string>() }) })
      ride(): string {
        return 'rode';
      }
    }
    const resolve = (_: unknown, context: ExecutionContext): string | undefined =>
      context.switchToRpc().getData<string>() === 'ada' ? 'pro' : undefined;
    await using app = await MessageApp.start({
      imports: [RateLimitModule.forRoot({ store: new StillStore(), plan: { resolve } })],
      controllers: [Rides],
    });
    for (const [user, limit] of [
      ['ada', 5],
      ['bo', 2],
    ] as const) {
      for (let i = 0; i < limit; i++) expect(await app.client.send('ride', user)).toEqual({ answer: 'rode' });
      expect(await app.client.send('ride', user)).toMatchObject({ error: { statusCode: 429 } });
    }
  });
});
