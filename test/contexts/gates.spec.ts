import { status } from '@grpc/grpc-js';
import { Controller, type INestApplicationContext } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { EventPattern, GrpcMethod, MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { sheddingOf, Switch, untilLevel } from '../support/shedding.js';
import { StillStore } from '../support/still-store.js';
import { DRIVERS as GRAPHQL } from './support/graphql-app.js';
import { GrpcApp } from './support/grpc-app.js';
import { MessageApp } from './support/message-app.js';
import { begin } from './support/riders.js';
import { ask, DRIVERS as SOCKETS, SocketApp } from './support/socket-app.js';

const MANY = { algorithm: 'fixed-window', limit: 1000, window: '1h' } as const;

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
  open(): number {
    return 2;
  }

  @Query(() => Int)
  @MessagePattern('critical')
  @RateLimit(MANY)
  criticalRide(): number {
    return 3;
  }

  @GrpcMethod('Rides', 'Quote')
  @RateLimit(MANY)
  quote(): object {
    return { cents: 1 };
  }

  @EventPattern('told')
  told(data: unknown): void {
    this.seen.push(data);
  }
}

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

/** What rejects before anything is charged, and what its clients get in each context. */
interface Gate {
  readonly options: () => RateLimitModuleOptions;
  /** Waits until the gate is closed. */
  readonly closed: (app: INestApplicationContext) => Promise<void>;
  readonly body: object;
  readonly extensions: object;
  readonly grpc: object;
  readonly retryAfter: readonly string[];
  /** What a handler of the class `critical` answers. */
  readonly critical: boolean;
}

const GATES: readonly (readonly [string, Gate])[] = [
  [
    'a block list',
    {
      options: () => ({ blockList: ['127.0.0.0/8', '::1'] }),
      closed: () => Promise.resolve(),
      body: {
        statusCode: 403,
        error: 'rate_limit_address_blocked',
        message: 'Requests from this address are blocked',
      },
      extensions: { code: 'FORBIDDEN' },
      grpc: { code: status.PERMISSION_DENIED, details: 'Requests from this address are blocked' },
      retryAfter: [],
      critical: false,
    },
  ],
  [
    'shedding',
    {
      options: () => ({
        // The class of a handler is in its name.
        shed: new Switch().options({
          priority: (_, context) => (context.getHandler().name.startsWith('critical') ? 'critical' : 'normal'),
        }),
      }),
      closed: (app) => untilLevel(app, 1),
      body: { statusCode: 503, error: 'load_shed', message: 'The server is overloaded', retry_after: 5 },
      extensions: { code: 'LOAD_SHED', retryAfter: 5, retryAfterMs: 5000 },
      grpc: { code: status.UNAVAILABLE, details: 'The server is overloaded' },
      retryAfter: ['5'],
      critical: true,
    },
  ],
];

describe.each(GATES)('%s charges nothing', (_, { options, closed, body, extensions, grpc, retryAfter, critical }) => {
  const limits = (store: StillStore) => ({ store, ...options() });

  it.each(GRAPHQL)('and rejects fields with %s', async (driver) => {
    const store = new StillStore();
    await using app = await begin(driver, limits(store), {}, [Handlers]);
    await closed(app.http.app);
    const { data, errors } = await app.ask('{ ride open }');
    expect(data).toEqual({ ride: null, open: null });
    expect(errors).toMatchObject([{ extensions }, { extensions }]);
    expect(store.asked).toEqual([]);
    expect(app.http.logs.of('error')).toEqual([]);
    if (!critical) return;
    // Both fields belong to one operation, and to one class.
    expect(sheddingOf(app.http.app).rejected[1]).toEqual({ priority: 'normal', requests: 1 });
    expect((await app.ask('{ ride criticalRide }')).data).toEqual({ ride: null, criticalRide: 3 });
  });

  it('and rejects messages and events', async () => {
    const store = new StillStore();
    const imports = [RateLimitModule.forRoot(limits(store))];
    await using app = await MessageApp.start({ imports, controllers: [Handlers] });
    await closed(app.app);
    expect(await app.client.send('ride')).toEqual({ error: body });
    await app.client.emit('told');
    expect(store.asked).toEqual([]);
    expect(await app.client.send('critical')).toEqual(critical ? { answer: 3 } : { error: body });
    expect(app.app.get(Handlers).seen).toEqual([]);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('and rejects gRPC calls', async () => {
    const store = new StillStore();
    const imports = [RateLimitModule.forRoot(limits(store))];
    await using app = await GrpcApp.start({ imports, controllers: [Handlers] });
    await closed(app.app);
    const { error } = await app.client.ask('Quote');
    expect(error).toMatchObject(grpc);
    expect(error!.metadata.get('retry-after')).toEqual(retryAfter);
    expect(store.asked).toEqual([]);
  });

  it.each(SOCKETS)('and rejects messages over %s, and turns connections away', async (driver) => {
    const store = new StillStore();
    await using app = await SocketApp.start(driver, Gateway, limits(store));
    await closed(app.http.app);
    const client = await app.connect();
    const exception = { event: 'exception', data: body };
    expect(await ask(client, 'ride')).toEqual(exception);
    expect(await ask(client, 'critical')).toEqual(critical ? { event: 'rode', data: 3 } : exception);
    await using doors = await SocketApp.start(driver, Doors, limits(store));
    await closed(doors.http.app);
    const turnedAway = await doors.connect();
    expect(await turnedAway.next()).toEqual(exception);
    await turnedAway.closed;
    expect(store.asked).toEqual([]);
  });
});
