import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it, jest } from '@jest/globals';
import {
  type IdentityResolver,
  ipIdentity,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import type { HttpApp } from '../support/http-app.js';
import { DRIVERS as GRAPHQL } from './support/graphql-app.js';
import { begin } from './support/riders.js';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

jest.setTimeout(30_000); // applications boot and answer in real time, and the machine may be busy

const IDENTITY: readonly IdentityResolver[] = [
  { kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: { id: string } }>) => user?.id },
  ipIdentity(),
];
const POLICY: Policy = { name: 'rider', algorithm: 'fixed-window', limit: 2, window: '1h', by: 'user' };

const warnings = (http: HttpApp): string[] => http.logs.of('warn');
const missing = (http: HttpApp): unknown => http.app.get(RateLimiter).stats().missingIdentities;

/** Sets the user of a GraphQL operation, or of a gateway's client. */
@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const [client, , graphql] =
      context.getArgs<
        [{ user?: object }, unknown, { req?: { user?: object }; reply?: { request: { user?: object } } } | undefined]
      >();
    const of = context.getType<string>() === 'graphql' ? (graphql?.req ?? graphql?.reply?.request) : client;
    of!.user = { id: 'ada' };
    return true;
  }
}

@Resolver()
@UseGuards(AuthGuard)
class Riders {
  @Query(() => Int)
  @RateLimit(POLICY)
  rider(): number {
    return 1;
  }
}

@WebSocketGateway()
class Chat {
  @SubscribeMessage('say')
  @UseGuards(AuthGuard)
  @RateLimit(POLICY)
  say(): object {
    return { event: 'said', data: 1 };
  }
}

const late = (where: string): unknown =>
  expect.stringContaining(`${where}: policy 'rider' counted the address of a request whose user was found later`);

describe('authentication after the rate limit', () => {
  it.each(GRAPHQL)('with %s, is proven by operations', async (driver) => {
    await using app = await begin(driver, { identity: IDENTITY }, {}, [Riders]);
    const errors: number[] = [];
    for (let i = 0; i < 3; i++) errors.push((await app.ask('{ rider }')).errors?.length ?? 0);
    expect(errors).toEqual([0, 0, 1]);
    expect(missing(app.http)).toEqual([{ policy: 'rider', requests: 3 }]);
    expect(warnings(app.http)).toEqual([late('Riders.rider')]);
  });

  it.each(DRIVERS)('over %s, is proven by the clients that are known later', async (driver) => {
    await using app = await SocketApp.start(driver, Chat, { identity: IDENTITY });
    const clients = [await app.connect(), await app.connect()];
    for (const client of clients) expect(await ask(client, 'say')).toMatchObject({ event: 'said' });
    expect(missing(app.http)).toEqual([{ policy: 'rider', requests: 2 }]);
    expect(warnings(app.http)).toEqual([late('Chat.say')]);
  });
});
