import { status } from '@grpc/grpc-js';
import { Controller } from '@nestjs/common';
import { Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { EventPattern, GrpcMethod, MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { expect, it, jest } from '@jest/globals';
import { RateLimit, RateLimitModule, type ShedOptions, SkipRateLimit } from 'nestjs-floodgate';
import { sheddingOf, Switch, untilLevel } from '../support/shedding.js';
import { StillStore } from '../support/still-store.js';
import { DRIVERS as GRAPHQL } from './support/graphql-app.js';
import { GrpcApp } from './support/grpc-app.js';
import { MessageApp } from './support/message-app.js';
import { begin } from './support/riders.js';
import { ask, DRIVERS as SOCKETS, SocketApp } from './support/socket-app.js';

jest.setTimeout(30_000); // applications boot and answer in real time, and the machine may be busy

const MANY = { algorithm: 'fixed-window', limit: 1000, window: '1h' } as const;
const BODY = { statusCode: 503, error: 'load_shed', message: 'The server is overloaded', retry_after: 5 };

/** The class of a handler is in its name. */
const priority: NonNullable<ShedOptions['priority']> = (_, context) =>
  context.getHandler().name.startsWith('critical') ? 'critical' : 'normal';

const options = (store: StillStore) => ({ store, shed: new Switch().options({ priority }) });

@Resolver()
@Controller()
class Handlers {
  readonly seen: unknown[] = [];

  @Query(() => Int, { nullable: true })
  @MessagePattern('ride')
  @RateLimit(MANY)
  ride(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @MessagePattern('open')
  open(): number {
    return 2;
  }

  @Query(() => Int)
  @MessagePattern('critical')
  @RateLimit(MANY)
  criticalRide(): number {
    return 3;
  }

  @Query(() => Int)
  @SkipRateLimit()
  health(): number {
    return 4;
  }

  @Mutation(() => Int, { nullable: true })
  book(): number {
    return 5;
  }

  @GrpcMethod('Rides', 'Quote')
  @RateLimit(MANY)
  quote(): object {
    return { cents: 200 };
  }

  @EventPattern('told')
  told(data: unknown): void {
    this.seen.push(data);
  }
}

it.each(GRAPHQL)('with %s, a rejected field says when to retry, and the others have their data', async (driver) => {
  const store = new StillStore();
  await using app = await begin(driver, options(store), {}, [Handlers]);
  await untilLevel(app.http.app, 1);
  const { data, errors } = await app.ask('{ ride open criticalRide health }');
  expect(data).toEqual({ ride: null, open: null, criticalRide: 3, health: 4 });
  const error = { extensions: { code: 'LOAD_SHED', retryAfter: 5, retryAfterMs: 5000 } };
  expect(errors).toMatchObject([error, error]);
  expect(store.asked).toHaveLength(1);
  // Both fields belong to one operation, and to one class.
  expect(sheddingOf(app.http.app).rejected[1]).toEqual({ priority: 'normal', requests: 1 });
  expect((await app.ask('mutation { book }')).errors).toMatchObject([{ extensions: { code: 'LOAD_SHED' } }]);
  expect(app.http.logs.of('error')).toEqual([]);
});

it('a rejected message has the body of HTTP as its error, and a rejected event is not handled', async () => {
  const store = new StillStore();
  const imports = [RateLimitModule.forRoot(options(store))];
  await using app = await MessageApp.start({ imports, controllers: [Handlers] });
  await untilLevel(app.app, 1);
  for (const pattern of ['ride', 'open']) expect(await app.client.send(pattern)).toEqual({ error: BODY });
  await app.client.emit('told');
  expect(store.asked).toEqual([]);
  expect(await app.client.send('critical')).toEqual({ answer: 3 });
  expect(app.app.get(Handlers).seen).toEqual([]);
  expect(app.logs.of('error')).toEqual([]);
});

it('a rejected gRPC call is UNAVAILABLE, and says when to retry', async () => {
  const store = new StillStore();
  const imports = [RateLimitModule.forRoot(options(store))];
  await using app = await GrpcApp.start({ imports, controllers: [Handlers] });
  await untilLevel(app.app, 1);
  const { error } = await app.client.ask('Quote');
  expect(error).toMatchObject({ code: status.UNAVAILABLE, details: 'The server is overloaded' });
  const { metadata } = error!;
  expect(metadata.get('retry-after')).toEqual(['5']);
  expect(metadata.get('grpc-retry-pushback-ms')).toEqual(['5000']);
  expect(metadata.get('grpc-status-details-bin').join('')).toContain('LOAD_SHED');
  expect(store.asked).toEqual([]);
});

@WebSocketGateway()
class Gateway {
  @SubscribeMessage('ride')
  @RateLimit(MANY)
  ride(): unknown {
    return { event: 'rode', data: 1 };
  }

  @SubscribeMessage('critical')
  criticalRide(): unknown {
    return { event: 'rode', data: 3 };
  }
}

@WebSocketGateway()
class Doors extends Gateway {
  handleConnection(): void {}
}

it.each(SOCKETS)(
  'over %s, a rejected message is an exception event, and a rejected connection is closed',
  async (driver) => {
    const store = new StillStore();
    await using app = await SocketApp.start(driver, Gateway, options(store));
    await untilLevel(app.http.app, 1);
    const client = await app.connect();
    expect(await ask(client, 'ride')).toEqual({ event: 'exception', data: BODY });
    expect(await ask(client, 'critical')).toEqual({ event: 'rode', data: 3 });
    await using doors = await SocketApp.start(driver, Doors, options(store));
    await untilLevel(doors.http.app, 1);
    const turnedAway = await doors.connect();
    expect(await turnedAway.next()).toEqual({ event: 'exception', data: BODY });
    await turnedAway.closed;
    expect(store.asked).toEqual([]);
  },
);
