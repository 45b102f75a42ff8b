import { type ExecutionContext, UseGuards } from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { FROM_HEADERS } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { BODY, Chat, LIMIT_MS, TWENTY } from './support/chat.js';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

describe.each(DRIVERS)('a connection over %s', (driver) => {
  const opened: string[] = [];

  @WebSocketGateway()
  class Doors {
    @RateLimit({ ...TWENTY, limit: 3 })
    handleConnection(): void {
      opened.push('client');
    }

    @SubscribeMessage('say')
    say(): unknown {
      return { event: 'said', data: 0 };
    }
  }

  it('is limited by @RateLimit on handleConnection', async () => {
    opened.length = 0;
    await using app = await SocketApp.start(driver, Doors, { store: new StillStore() });
    const admitted = [await app.connect(), await app.connect(), await app.connect()];
    const late = await app.connect();
    expect(await late.next()).toEqual({ event: 'exception', data: BODY });
    expect(await late.closed).toBe(driver === 'ws' ? 1013 : 'io server disconnect');
    expect(opened).toHaveLength(3);
    for (const client of admitted) expect(await ask(client, 'say')).toEqual({ event: 'said', data: 0 });
    expect(app.http.logs.of('error')).toEqual([]);
    expect(app.http.logs.of('warn')).toEqual([]);
  });

  it('gets no message through before it is admitted', async () => {
    @WebSocketGateway()
    class Slow {
      @RateLimit({ ...TWENTY, limit: 1 })
      handleConnection(): void {}

      @SubscribeMessage('say')
      say(): unknown {
        opened.push('said');
        return { event: 'said', data: 0 };
      }
    }
    opened.length = 0;
    let decide = (): void => {};
    const slow = {
      kind: 'user',
      resolve: () => new Promise<string>((resolve) => (decide = () => resolve('ada'))),
    };
    await using app = await SocketApp.start(driver, Slow, {
      store: new StillStore(),
      identity: [slow],
      deadline: 10_000,
    });
    const first = await app.connect();
    const answer = ask(first, 'say');
    await turns(20);
    expect(opened).toEqual([]);
    decide();
    expect(await answer).toEqual({ event: 'said', data: 0 });
    const second = await app.connect();
    second.emit('say');
    await turns(20);
    decide();
    await second.closed;
    expect(second.said.map(({ event }) => event)).not.toContain('said');
    expect(opened).toEqual(['said']);
  });

  it('gets no message through where a second gateway has no limit', async () => {
    @WebSocketGateway()
    class Open {
      @SubscribeMessage('other')
      other(): void {}
    }
    @WebSocketGateway()
    class Limited {
      @RateLimit({ ...TWENTY, limit: 1, by: later })
      handleConnection(): void {}

      @SubscribeMessage('say')
      say(): unknown {
        opened.push('said');
        return { event: 'said', data: 0 };
      }
    }
    for (const gateways of [
      [Open, Limited],
      [Limited, Open],
    ]) {
      opened.length = 0;
      await using app = await SocketApp.start(driver, gateways, { store: new StillStore(), deadline: LIMIT_MS });
      await ask(await app.connect(), 'say');
      const rejected = await app.connect();
      for (let i = 0; i < 10; i++) rejected.emit('say');
      await rejected.closed;
      expect(opened).toEqual(['said']);
    }
  });

  it('is charged once by a policy that stands on two gateways', async () => {
    @WebSocketGateway()
    class First {
      handleConnection(): void {}
    }
    @WebSocketGateway()
    class Second {
      readonly handleConnection = (): void => {};
    }
    const store = new StillStore();
    const defaults = [{ ...TWENTY, scope: 'app' as const }];
    await using app = await SocketApp.start(driver, [First, Second], { store, defaults });
    await app.connect();
    await turns(20);
    expect(store.asked).toHaveLength(1);
  });

  it('reaches neither handleConnection nor handleDisconnect when it leaves before it is admitted', async () => {
    const seen: string[] = [];
    let decide = (): void => {};
    const by = () =>
      new Promise<{ kind: string; value: string }>((resolve) => {
        decide = () => resolve({ kind: 'user', value: 'ada' });
      });
    @WebSocketGateway()
    class Presence {
      @RateLimit({ ...TWENTY, by })
      handleConnection(): void {
        seen.push('connected');
      }

      handleDisconnect(): void {
        seen.push('disconnected');
      }
    }
    await using app = await SocketApp.start(driver, Presence, { store: new StillStore(), deadline: 10_000 });
    const leaver = await app.connect();
    leaver.close();
    await leaver.closed;
    await turns(20);
    decide();
    await turns(20);
    expect(seen).toEqual([]);
    const stayer = await app.connect();
    await turns(20);
    decide();
    await until('the client is connected', LIMIT_MS, () => seen.length === 1);
    stayer.close();
    await until('the client is disconnected', LIMIT_MS, () => seen.length === 2);
    expect(seen).toEqual(['connected', 'disconnected']);
  });

  it.each([
    ['throws undefined', { shouldSkip: () => Promise.reject(undefined) }],
    ['throws at once', { canActivate: () => fail() }],
    ['says no', { canActivate: () => false }],
    ['rejects with a body that JSON does not know', { refuse: () => fail({ getResponse: () => ({ big: 1n }) }) }],
  ])('ends when a guard of the application %s, and the process lives', async (_, methods) => {
    class Guard extends RateLimitGuard {}
    Object.assign(Guard.prototype, methods);
    @WebSocketGateway()
    @UseGuards(Guard)
    class Guarded {
      @RateLimit({ ...TWENTY, limit: 1 })
      handleConnection(): void {}
    }
    await using app = await SocketApp.start(driver, Guarded, { store: new StillStore(), guard: false });
    const clients = [await app.connect(), await app.connect()];
    await clients[1]!.closed;
    expect(app.http.logs.of('error').length).toBeLessThanOrEqual(2);
  });

  it('is decided by a guard of the application that asks something else first', async () => {
    class Guard extends RateLimitGuard {
      override async canActivate(context: ExecutionContext): Promise<boolean> {
        await turns(1);
        return super.canActivate(context);
      }
    }
    @WebSocketGateway()
    @UseGuards(Guard)
    class Guarded {
      @RateLimit({ ...TWENTY, limit: 1 })
      handleConnection(): void {}

      @SubscribeMessage('say')
      say(): unknown {
        return { event: 'said', data: 0 };
      }
    }
    await using app = await SocketApp.start(driver, Guarded, { store: new StillStore(), guard: false });
    expect(await ask(await app.connect(), 'say')).toEqual({ event: 'said', data: 0 });
    const late = await app.connect();
    expect(await late.next()).toEqual({ event: 'exception', data: BODY });
  });

  it('is limited where handleConnection is an arrow function', async () => {
    @WebSocketGateway()
    class Arrow {
      readonly handleConnection = (): void => {
        opened.push('client');
      };
    }
    opened.length = 0;
    const defaults = [{ ...TWENTY, limit: 1 }];
    await using app = await SocketApp.start(driver, Arrow, { store: new StillStore(), defaults });
    await app.connect();
    await (
      await app.connect()
    ).closed;
    expect(opened).toEqual(['client']);
  });

  it('has no handler of its own, and its messages still count by its handshake', async () => {
    const store = new StillStore();
    await using app = await SocketApp.start(driver, Chat, { store, identity: FROM_HEADERS });
    await ask(await app.connect({ 'X-User-Id': 'ada' }), 'say');
    expect(store.keys[0]).toContain('{user:ada}');
  });
});

/** Finds an identity later. */
async function later(): Promise<{ kind: string; value: string }> {
  await turns(10);
  return { kind: 'user', value: 'ada' };
}

function fail(error: unknown = new Error('no')): never {
  throw error;
}

/** Lets the event loop read what clients have sent. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve, 1));
}
