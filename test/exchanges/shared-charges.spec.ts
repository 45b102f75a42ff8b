import { setTimeout as delay } from 'node:timers/promises';
import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Get,
  type NestInterceptor,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { Args, Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createClient } from 'graphql-ws';
import {
  graphqlContext,
  type Outcome,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { type Observable, retry } from 'rxjs';
import { WebSocket } from 'undici';
import { DRIVERS, type GraphqlApp, startGraphql } from '../contexts/support/graphql-app.js';
import { DRIVERS as SOCKETS, SocketApp } from '../contexts/support/socket-app.js';
import { until } from '../support/faults/until.js';
import { limited, PLATFORMS } from '../support/http-app.js';
import { RateLimitRuntime } from '../support/runtime.js';

jest.setTimeout(60_000);

const LIMIT_MS = 10_000;
const IP = { kind: 'ip', value: '127.0.0.1' } as const;
const WINDOW = { algorithm: 'fixed-window', window: '300d', scope: 'app' } as const;
const LOGINS: Policy = { ...WINDOW, name: 'logins', limit: 5 };
const BESIDE: Policy = { ...WINDOW, name: 'beside', limit: 10_000 };
const TOKENS: Policy = { ...WINDOW, name: 'tokens', limit: 10_000 };
const TWO: Policy = { name: 'two', algorithm: 'concurrency', limit: 2, lease: '30s', scope: 'app' };
const FIVE: Policy = { ...WINDOW, name: 'five', limit: 5 };

let guesses = 0;
let told = 0;
beforeEach(() => {
  [guesses, told] = [0, 0];
});

const isFailed = ({ error, aborted }: Outcome): boolean => {
  told++;
  return error !== undefined || aborted;
};

class RejectsSome implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (!context.getArgByIndex<{ passes: boolean }>(1).passes) throw new ForbiddenException();
    return true;
  }
}

@Resolver()
class Accounts {
  @Query(() => Int, { nullable: true })
  @RateLimit(TWO)
  @UseGuards(new RejectsSome())
  hold(@Args('passes') _passes: boolean): number {
    return 1;
  }

  @Mutation(() => Int, { nullable: true })
  @RateLimit(
    { ...LOGINS, countIf: isFailed },
    {
      ...BESIDE,
      settle: async () => {
        await delay(20); // the other policy is decided long before
        return 1;
      },
    },
  )
  login(@Args('password') password: string): number {
    guesses++;
    if (password !== 'right') throw new UnauthorizedException();
    return 1;
  }

  @Mutation(() => Int, { nullable: true })
  @RateLimit({ ...TOKENS, cost: 10, settle: ({ value }) => value as number })
  spend(@Args('tokens', { type: () => Int }) tokens: number): number {
    return tokens;
  }
}

const open = (driver: (typeof DRIVERS)[number], options: RateLimitModuleOptions = {}): Promise<GraphqlApp> =>
  startGraphql(
    driver,
    {
      imports: [RateLimitModule.forRoot({ contexts: [graphqlContext({ count: 'operation' })], ...options })],
      providers: [Accounts],
    },
    { apollo: { subscriptions: { 'graphql-ws': true } }, mercurius: { subscription: { fullWsTransport: true } } },
  );

/** Asks over one socket. */
function dial(app: GraphqlApp): { ask(query: string): Promise<string>; close(): unknown } {
  const client = createClient({ url: app.url.replace('http', 'ws'), webSocketImpl: WebSocket, retryAttempts: 0 });
  const ask = async (query: string): Promise<string> => {
    const results: unknown[] = [];
    for await (const result of client.iterate({ query })) results.push(result);
    return JSON.stringify(results);
  };
  return { ask, close: () => client.dispose() };
}

async function left(app: GraphqlApp, policy: Policy): Promise<number> {
  return (await app.http.app.get(RateLimiter).peek(policy, IP)).policies[0]!.remaining;
}

describe.each(DRIVERS)('operations over a WebSocket with %s', (driver) => {
  it('count each field, though a function of another policy takes its time', async () => {
    await using app = await open(driver);
    const client = dial(app);
    for (let i = 0; i < 10; i++) {
      await client.ask('mutation { a: login(password: "right") b: login(password: "wrong") }');
      await until('the endings are told', LIMIT_MS, () => told === guesses);
      await delay(30); // and what they do is done
    }
    expect([guesses, await left(app, LOGINS)]).toEqual([10, 0]);
    await client.close();
  });

  it('cost the most that one of their fields does, whichever comes first', async () => {
    await using app = await open(driver);
    const client = dial(app);
    for (const [i, [first, second]] of [
      [10, 3_000],
      [3_000, 10],
    ].entries()) {
      await client.ask(`mutation { a: spend(tokens: ${first}) b: spend(tokens: ${second}) }`);
      const rest = 10_000 - 3_000 * (i + 1);
      await until('both are settled', LIMIT_MS, async () => (await left(app, TOKENS)) <= rest);
      expect(await left(app, TOKENS)).toBe(rest);
    }
    await client.close();
  });

  it('renew no lease for a field that another guard has rejected', async () => {
    const clock = new VirtualClock();
    await using app = await open(driver, { store: new VirtualStore(clock) });
    const client = dial(app);
    await client.ask('{ a: hold(passes: true) b: hold(passes: false) }');
    await until('no lease is renewed', LIMIT_MS, () => app.http.app.get(RateLimitRuntime).leases.size === 0);
    clock.advance('30s');
    expect(await left(app, TWO)).toBe(2);
    await client.close();
  });

  it('release their lease one after the other', async () => {
    await using app = await open(driver);
    const client = dial(app);
    for (let i = 0; i < 6; i++) {
      expect(await client.ask('{ hold(passes: true) }')).toContain('"hold":1');
      await until('the lease is released', LIMIT_MS, async () => (await left(app, TWO)) === 2);
    }
    await client.close();
  });
});

class Retries implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(retry(1));
  }
}

describe.each(PLATFORMS)('over %s, a handler that an interceptor calls again', (platform) => {
  it('has the ending of its last call', async () => {
    let calls = 0;
    const endings: Outcome[] = [];

    @Controller()
    @UseInterceptors(new Retries())
    class Routes {
      @Get()
      @RateLimit({
        ...FIVE,
        settle: (outcome) => {
          endings.push(outcome);
          return outcome.error === undefined ? 1 : 0;
        },
      })
      get(): string {
        if (calls++ % 2 === 0) throw new Error('first');
        return 'served';
      }
    }
    await using app = await limited(platform, Routes);
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) {
      statuses.push((await app.send('/')).status);
      if (i < 5) await until('the ending is told', LIMIT_MS, () => endings.length === i + 1);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect(endings.map(({ value, error }) => [value, error])).toEqual(endings.map(() => ['served', undefined]));
  });
});

describe.each(SOCKETS)('over %s, a connection that waits for its slot', (driver) => {
  it('keeps as many messages waiting as one client may, and rejects the others', async () => {
    let handled = 0;

    @WebSocketGateway()
    class Chat {
      @RateLimit({ name: 'door', algorithm: 'leaky-bucket', capacity: 10, drain: '1/h' })
      handleConnection(): void {}

      @SubscribeMessage('say')
      @RateLimit({ ...WINDOW, name: 'say', limit: 1_000 })
      say(): unknown {
        handled++;
        return { event: 'said', data: 0 };
      }
    }
    await using app = await SocketApp.start(driver, Chat, { maxWaitingPerClient: 3 });
    await app.connect();
    const room = app.http.app.get(RateLimitRuntime).waitingRoom;
    const waits = await app.connect();
    await until('the connection waits', LIMIT_MS, () => room.size === 1);
    for (let i = 0; i < 20; i++) waits.emit('say', {});
    await until('the others are rejected', LIMIT_MS, () => waits.said.length === 17);
    expect(new Set(waits.said.map(({ event }) => event))).toEqual(new Set(['exception']));
    expect(handled).toBe(0);
  });
});
