import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { expect, it } from '@jest/globals';
import {
  type IdentityResolver,
  ipIdentity,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

const IDENTITY: readonly IdentityResolver[] = [
  { kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: { id: string } }>) => user?.id },
  ipIdentity(),
];
const POLICY: Policy = { name: 'rider', algorithm: 'fixed-window', limit: 2, window: '1h', by: 'user' };

/** Sets the user of a gateway's client. */
@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    context.switchToWs().getClient<{ user?: object }>().user = { id: 'ada' };
    return true;
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

it.each(DRIVERS)(
  'authentication after the rate limit over %s is proven by the clients that are known later',
  async (driver) => {
    await using app = await SocketApp.start(driver, Chat, { identity: IDENTITY });
    const { app: nest, logs } = app.http;
    const late = "Chat.say: policy 'rider' counted the address of a request whose user was found later";
    const clients = [await app.connect(), await app.connect()];
    for (const client of clients) expect(await ask(client, 'say')).toMatchObject({ event: 'said' });
    expect(nest.get(RateLimiter).stats().missingIdentities).toEqual([{ policy: 'rider', requests: 2 }]);
    expect(logs.of('warn')).toEqual([expect.stringContaining(late)]);
  },
);
