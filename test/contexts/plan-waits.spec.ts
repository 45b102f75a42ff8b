import { Int, Mutation, Query, Resolver } from '@nestjs/graphql';
import { ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { expect, it } from '@jest/globals';
import {
  MemoryStore,
  type Policy,
  RateLimit,
  type RateLimitModuleOptions,
  type RateLimitStore,
  userIdentity,
} from 'nestjs-floodgate';
import type { Charge, Verdict } from 'nestjs-floodgate/testing';
import { LateDatabase, statsOf, untilWaiting } from '../e2e/support/late-database.js';
import { OwnStore } from '../support/own-store.js';
import { codes, DRIVERS } from './support/graphql-app.js';
import { begin } from './support/riders.js';
import { ask, DRIVERS as SOCKETS, SocketApp } from './support/socket-app.js';

// test/e2e/plans-and-overrides proves the same of HTTP, and that a client that leaves keeps nothing.

const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user', scope: 'app' } as const;
const DAILY: Policy = { ...WINDOW, name: 'daily', limit: 1, plans: { pro: { limit: 3 } } };
const BUCKET: Policy = {
  name: 'bucket',
  algorithm: 'token-bucket',
  capacity: 1,
  refill: '1/h',
  by: 'user',
  scope: 'app',
  plans: { pro: { capacity: 3 } },
};

@Resolver()
class Handlers {
  @Query(() => Int)
  @RateLimit(DAILY)
  one(): number {
    return 1;
  }

  @Query(() => Int)
  @RateLimit(DAILY)
  two(): number {
    return 2;
  }

  @Query(() => Int)
  @RateLimit(BUCKET)
  three(): number {
    return 3;
  }

  @Query(() => Int)
  @RateLimit(BUCKET)
  four(): number {
    return 4;
  }

  @Mutation(() => Int)
  @RateLimit(DAILY)
  write(): number {
    return 5;
  }
}

@WebSocketGateway()
class Gateway {
  @SubscribeMessage('say')
  @RateLimit(DAILY)
  say(@MessageBody() text: string, @ConnectedSocket() _client: unknown): { event: string; data: string } {
    return { event: 'said', data: text };
  }
}

const ADA = { 'X-User-Id': 'ada' };

/** A store that answers later, as one beyond a network does. */
class LaterStore extends OwnStore {
  override answer = async (charges: readonly Charge[]): Promise<Verdict> => this.inner.consume(charges);
}

/** Options under which each look-up is late at once. */
function late(database: LateDatabase, store: RateLimitStore = new MemoryStore()): RateLimitModuleOptions {
  return {
    store,
    identity: [userIdentity()],
    deadline: '1ms',
    plan: { resolve: database.resolve, timeout: '30s' },
  };
}

it.each([
  ...DRIVERS.map((driver) => [driver, 'that answers at once', MemoryStore] as const),
  ['Mercurius', 'that answers later', LaterStore] as const,
])(
  'with %s over a store %s, an operation waits for the plan as a whole, and is charged once',
  async (driver, _, Store) => {
    const database = new LateDatabase();
    await using app = await begin(driver, late(database, new Store()), {}, [Handlers]);
    expect((await app.ask('{ one three }', ADA)).data).toEqual({ one: 1, three: 3 }); // the fallback admits it
    const waiting = app.ask('{ one two three four }', ADA);
    await untilWaiting(app.http, 2);
    database.answer('ada', 'pro');
    expect((await waiting).data).toEqual({ one: 1, two: 2, three: 3, four: 4 });
    // Of the window one more has room, and of the bucket two: that of the plan was full.
    expect((await app.ask('{ one two three four }', ADA)).data).toEqual({ one: 1, two: 2, three: 3, four: 4 });
    expect(codes(await app.ask('{ one two }', ADA))).toContain('RATE_LIMITED');
    expect((await app.ask('{ three four }', ADA)).data).toEqual({ three: 3, four: 4 });
    expect(codes(await app.ask('{ three four }', ADA))).toContain('RATE_LIMITED');
    expect(database.asked).toEqual(['ada']);
  },
);

it('mutations of one operation wait one after the other', async () => {
  const database = new LateDatabase();
  await using app = await begin('Mercurius', late(database), {}, [Handlers]);
  const waiting = app.ask('mutation { a: write b: write c: write }', ADA);
  await untilWaiting(app.http, 1);
  database.answer('ada', 'pro');
  expect((await waiting).data).toEqual({ a: 5, b: 5, c: 5 });
  expect(codes(await app.ask('mutation { write }', ADA))).toEqual(['RATE_LIMITED']);
});

it.each(SOCKETS)('over %s, a message waits for the plan', async (driver) => {
  const database = new LateDatabase();
  await using app = await SocketApp.start(driver, Gateway, late(database));
  const client = await app.connect(ADA);
  expect(await ask(client, 'say', 'a')).toEqual({ event: 'said', data: 'a' });
  const answer = ask(client, 'say', 'b');
  await untilWaiting(app.http, 1);
  database.answer('ada', 'pro');
  expect(await answer).toEqual({ event: 'said', data: 'b' });
  expect(statsOf(app.http)).toMatchObject({ requests: 2, allowed: 2, rejected: 0 });
});
