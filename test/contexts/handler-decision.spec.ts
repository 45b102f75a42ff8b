import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { Args, Field, Int, Mutation, ObjectType, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { GrpcMethod, GrpcStreamMethod, MessagePattern, Payload } from '@nestjs/microservices';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { map, type Observable, toArray } from 'rxjs';
import {
  chargedBy,
  type ContextAdapter,
  type Decision,
  type Policy,
  RateLimit,
  RateLimitDecision,
  rateLimitDecisionOf,
  RateLimitModule,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { DRIVERS } from './support/graphql-app.js';
import { GrpcApp } from './support/grpc-app.js';
import { MessageApp } from './support/message-app.js';
import { begin } from './support/riders.js';
import { DRIVERS as SOCKETS, SocketApp } from './support/socket-app.js';

/** So many calls run at once, each with a cost of its own: no two decisions are equal. */
const CALLS = Array.from({ length: 20 }, (_, i) => i + 1);
const MANY = { name: 'many', algorithm: 'fixed-window', limit: 1000, window: '1h' } as const satisfies Policy;

/** What a handler says of its decision: the cost, 0 where it has none. */
const costIn = (decision: Decision | undefined): number => (decision && chargedBy(decision)[0]?.cost) ?? 0;
const names = (decision: Decision | undefined): string => decision?.policies.map(({ policy }) => policy).join() ?? '-';

/** Notes the decision of each call around its handler. */
@Injectable()
class Seen implements NestInterceptor {
  private static readonly costs: number[] = [];

  intercept(context: ExecutionContext, next: CallHandler): ReturnType<CallHandler['handle']> {
    Seen.costs.push(costIn(rateLimitDecisionOf(context)));
    return next.handle();
  }

  /** The costs since the last call, sorted. */
  static take(): number[] {
    return Seen.costs.splice(0).toSorted((one, other) => one - other);
  }
}

/** Handlers end in another order than they begin. */
async function someTurns(n: number): Promise<void> {
  for (let i = 0; i < (n * 7) % 5; i++) await turn();
}

@ObjectType()
class Ride {
  @Field(() => Int)
  n!: number;
}

@Resolver(() => Ride)
class Rides {
  @Query(() => [Ride])
  @RateLimit({ ...MANY, name: 'rides' })
  rides(@RateLimitDecision() decision: Decision): Ride[] {
    return names(decision) === 'rides' ? [{ n: 1 }, { n: 2 }] : [];
  }

  @Query(() => String)
  @SkipRateLimit()
  free(@RateLimitDecision() decision: Decision | undefined): string {
    return names(decision);
  }

  @Query(() => Int)
  @RateLimit({ ...MANY, cost: 3 })
  other(@RateLimitDecision() decision: Decision): number {
    return costIn(decision);
  }

  @Mutation(() => Int)
  @RateLimit({ ...MANY, cost: (_, context) => context.getArgByIndex<{ n: number }>(1).n })
  @UseInterceptors(Seen)
  async order(@Args('n', { type: () => Int }) n: number, @RateLimitDecision() decision: Decision): Promise<number> {
    await someTurns(n);
    return costIn(decision) * 1000 + n;
  }

  @ResolveField(() => String)
  @RateLimit({ ...MANY, name: 'label' })
  label(@RateLimitDecision() decision: Decision | undefined): string {
    return names(decision);
  }
}

const GUARDED = { fieldResolverEnhancers: ['guards' as const] };

it.each(DRIVERS)('with %s, a resolver is told the decision on its own field', async (driver) => {
  await using app = await begin(driver, {}, GUARDED, [Rides]);
  const { data, errors } = await app.ask('{ rides { n label } free other }');
  expect(errors).toBeUndefined();
  expect(data).toEqual({ rides: [1, 2].map((n) => ({ n, label: 'label' })), free: '-', other: 3 });
  const order = (n: number): string => `a${n}: order(n: ${n})`;
  Seen.take();
  const [one, ...apart] = await Promise.all([
    app.ask(`mutation { ${CALLS.map(order).join(' ')} }`),
    ...CALLS.map((n) => app.ask(`mutation { ${order(n)} }`)),
  ]);
  expect(one?.data).toEqual(Object.fromEntries(CALLS.map((n) => [`a${n}`, n * 1001])));
  expect(apart.map(({ data: each }) => each)).toEqual(CALLS.map((n) => ({ [`a${n}`]: n * 1001 })));
  expect(Seen.take()).toEqual(CALLS.flatMap((n) => [n, n]));
});

@WebSocketGateway()
class Chat {
  readonly connections: unknown[] = [];

  @SubscribeMessage('say')
  @RateLimit({ ...MANY, cost: (_, context) => context.getArgByIndex<number>(1) })
  @UseInterceptors(Seen)
  async say(@MessageBody() n: number, @RateLimitDecision() decision: Decision): Promise<unknown> {
    await someTurns(n);
    return { event: 'said', data: costIn(decision) * 1000 + n };
  }

  @SubscribeMessage('free')
  free(@RateLimitDecision() decision: Decision | undefined): unknown {
    return { event: 'said', data: names(decision) };
  }

  @RateLimit({ ...MANY, name: 'connections' })
  handleConnection(client: object, @RateLimitDecision() decision: Decision | undefined): void {
    this.connections.push([typeof client, names(decision)]);
  }
}

const UNTOLD =
  '@RateLimitDecision is always undefined there, because no policy limits a handler of a WebSocket gateway: add @RateLimit RateLimit';

describe.each(SOCKETS)('over %s', (driver) => {
  it('a message is told its decision, however many one client sends at once', async () => {
    await using app = await SocketApp.start(driver, Chat, { store: new StillStore() });
    const client = await app.connect();
    Seen.take();
    for (const n of CALLS) client.emit('say', n); // payloads without an identity
    const said: number[] = [];
    for (const _ of CALLS) said.push((await client.next()).data as number);
    expect(said.toSorted((one, other) => one - other)).toEqual(CALLS.map((n) => n * 1001));
    expect(Seen.take()).toEqual(CALLS);
    client.emit('free', 1);
    expect((await client.next()).data).toBe('-');
    expect(app.http.app.get(Chat).connections).toEqual([['object', 'connections']]);
    expect(app.http.logs.of('warn')).toEqual([`Chat.free: ${UNTOLD}`]);
  });

  it('a connection that no policy limits is told nothing', async () => {
    const told: unknown[] = [];
    @WebSocketGateway()
    class Open {
      handleConnection(_: object, @RateLimitDecision() decision: Decision | undefined): void {
        told.push(decision);
      }
    }
    await using app = await SocketApp.start(driver, Open, { store: new StillStore() });
    await app.connect();
    await until('the connection', 5_000, () => told.length > 0);
    expect(told).toEqual([undefined]); // and not the upgrade, which Nest passes there
    expect(app.http.logs.of('warn')).toEqual([`Open.handleConnection: ${UNTOLD}`]);
  });
});

const limiter = (contexts: ContextAdapter[] = []) => RateLimitModule.forRoot({ store: new StillStore(), contexts });

@Controller()
class Prices {
  @MessagePattern('quote')
  @RateLimit({ ...MANY, cost: (_, context) => context.getArgByIndex<number>(0) })
  @UseInterceptors(Seen)
  async message(@Payload() n: number, @RateLimitDecision() decision: Decision): Promise<number> {
    await someTurns(n);
    return costIn(decision) * 1000 + n;
  }

  @GrpcMethod('Rides', 'Quote')
  @RateLimit({ ...MANY, cost: ({ headers }) => Number(headers['n']) })
  async quote(@Payload() _: unknown, @RateLimitDecision() decision: Decision): Promise<object> {
    await someTurns(costIn(decision));
    return { cents: costIn(decision) };
  }

  @GrpcStreamMethod('Rides', 'Total')
  @RateLimit({ ...MANY, cost: 7 })
  total(@Payload() trips: Observable<unknown>, @RateLimitDecision() decision: Decision): Observable<object> {
    return trips.pipe(
      toArray(),
      map(() => ({ cents: costIn(decision) })),
    );
  }
}

it('a message over TCP is told its decision, however many come at once', async () => {
  await using app = await MessageApp.start({ imports: [limiter()], controllers: [Prices] });
  Seen.take();
  const answers = await Promise.all(CALLS.map((n) => app.client.send('quote', n)));
  expect(answers).toEqual(CALLS.map((n) => ({ answer: n * 1001 })));
  expect(Seen.take()).toEqual(CALLS);
});

it('a gRPC call is told its decision, with one request or a stream of them', async () => {
  await using app = await GrpcApp.start({ imports: [limiter()], controllers: [Prices] });
  const answers = await Promise.all(CALLS.map((n) => app.client.ask('Quote', { n: String(n) })));
  expect(answers).toEqual(CALLS.map((n) => ({ answers: [{ cents: n }] })));
  expect(await app.client.gather('Total')).toEqual({ answers: [{ cents: 7 }] });
});

it('what a handler was told is collected once its call is over, though it leaves a timer running', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  /** A decision of each call. */
  const told: WeakRef<Decision>[] = [];
  /** What handlers leave running keeps their async context. */
  const timers: NodeJS.Timeout[] = [];
  const keep = (decision: Decision): void => {
    told.push(new WeakRef(decision));
    timers.push(setInterval(() => undefined, 60_000).unref());
  };

  @Controller()
  class Routes {
    @Get('keep')
    @RateLimit(MANY)
    keep(@RateLimitDecision() decision: Decision): string {
      keep(decision);
      return 'kept';
    }

    @Get('other')
    other(): string {
      return 'other';
    }
  }
  @Resolver()
  class Kept {
    @Query(() => Int)
    @RateLimit(MANY)
    keep(@RateLimitDecision() decision: Decision): number {
      keep(decision);
      return 1;
    }
  }
  await using http = await start('Express', { imports: [limiter()], controllers: [Routes] });
  await using graphql = await begin('Mercurius', {}, {}, [Kept]);
  for (let i = 0; i < 20; i++) {
    await http.send('/keep');
    await graphql.ask('{ keep }');
  }
  // A connection keeps its last request.
  await http.send('/other');
  await graphql.ask('{ __typename }');
  expect(told).toHaveLength(40);
  const left = (): number => told.filter((one) => one.deref() !== undefined).length;
  for (let i = 0; i < 50 && left() > 0; i++) {
    for (let j = 0; j < 10; j++) await turn(); // a WeakRef that was read holds its target until the end of the turn
    gc();
  }
  for (const timer of timers) clearInterval(timer);
  expect(left()).toBe(0);
});
