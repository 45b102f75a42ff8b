import { Controller, Inject } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { LimiterUnavailableError, RateLimiter, RateLimitExceededException, RateLimitModule } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { ask, DRIVERS as SOCKET_DRIVERS, SocketApp } from './support/socket-app.js';
import { DRIVERS, startGraphql } from './support/graphql-app.js';
import { MessageApp } from './support/message-app.js';

const POLICIES = { mails: { algorithm: 'fixed-window', limit: 1, window: '1h' } } as const;
const imports = () => [RateLimitModule.forRoot({ store: new StillStore(), policies: POLICIES })];

/** Handlers that ask the limiter themselves. */
abstract class Asking {
  @Inject(RateLimiter) private readonly limiter!: RateLimiter;

  protected async send(): Promise<number> {
    const decision = await this.limiter.consume('mails', { kind: 'user', value: 'ada' });
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    return 1;
  }
}

@Resolver()
@Controller()
class Handlers extends Asking {
  @Query(() => Int, { nullable: true })
  @MessagePattern('mail')
  mail(): Promise<number> {
    return this.send();
  }

  @Query(() => Int, { nullable: true })
  @MessagePattern('broken')
  broken(): number {
    throw new LimiterUnavailableError('gone');
  }
}

@WebSocketGateway()
class Gateway extends Asking {
  @SubscribeMessage('mail')
  async mail(): Promise<unknown> {
    return { event: 'mailed', data: await this.send() };
  }

  @SubscribeMessage('broken')
  broken(): never {
    throw new LimiterUnavailableError('gone');
  }
}

describe('an exception that a handler throws itself', () => {
  it.each(DRIVERS)("is the guard's error of GraphQL with %s", async (driver) => {
    await using app = await startGraphql(driver, { imports: imports(), providers: [Handlers] });
    expect((await app.ask('{ mail }')).data).toEqual({ mail: 1 });
    const { errors } = await app.ask('{ mail broken }');
    expect(errors).toEqual([
      expect.objectContaining({
        extensions: expect.objectContaining({ code: 'RATE_LIMIT_UNAVAILABLE', retryAfter: 1 }),
      }),
      expect.objectContaining({ extensions: expect.objectContaining({ code: 'RATE_LIMITED', retryAfter: 3600 }) }),
    ]);
    expect(app.http.logs.of('error')).toEqual([]);
  });

  it("is the guard's error of messages", async () => {
    await using app = await MessageApp.start({ imports: imports(), controllers: [Handlers] });
    expect(await app.client.send('mail')).toEqual({ answer: 1 });
    expect(await app.client.send('mail')).toMatchObject({ error: { statusCode: 429, retry_after: 3600 } });
    expect(await app.client.send('broken')).toMatchObject({ error: { statusCode: 503, retry_after: 1 } });
    expect(app.logs.of('error')).toEqual([]);
  });

  it.each(SOCKET_DRIVERS)("is the guard's event over %s", async (driver) => {
    await using app = await SocketApp.start(driver, Gateway, { store: new StillStore(), policies: POLICIES });
    const client = await app.connect();
    expect(await ask(client, 'mail')).toEqual({ event: 'mailed', data: 1 });
    expect(await ask(client, 'mail')).toEqual({
      event: 'exception',
      data: expect.objectContaining({ statusCode: 429, retry_after: 3600, policy: 'mails' }),
    });
    expect(await ask(client, 'broken')).toEqual({
      event: 'exception',
      data: expect.objectContaining({ statusCode: 503, retry_after: 1 }),
    });
    expect(app.http.logs.of('error')).toEqual([]);
  });
});
