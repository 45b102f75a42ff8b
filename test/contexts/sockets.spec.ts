import { type ExecutionContext, UseGuards } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitGuard, SkipRateLimit } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { FROM_HEADERS } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';
import { RateLimitRuntime } from '../support/runtime.js';
import { StillStore } from '../support/still-store.js';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

const LIMIT_MS = 10_000;
const TWENTY = { name: 'twenty', algorithm: 'fixed-window', limit: 20, window: '1h' } as const satisfies Policy;

const BODY = {
  statusCode: 429,
  error: 'rate_limit_exceeded',
  message: 'Too many requests, retry in 3600 seconds',
  retry_after: 3600,
  retry_after_ms: 3_600_000,
  policy: 'twenty',
};

@WebSocketGateway()
class Chat {
  @SubscribeMessage('say')
  @RateLimit(TWENTY)
  say(@MessageBody() text: unknown): unknown {
    return { event: 'said', data: text };
  }

  @SubscribeMessage('free')
  free(): unknown {
    return { event: 'freed', data: 1 };
  }
}

describe.each(DRIVERS)('a message over %s', (driver) => {
  it('is rejected on its 21st call, and its sender gets the body of a 429', async () => {
    await using app = await SocketApp.start(driver, Chat, { store: new StillStore() });
    const client = await app.connect();
    for (let i = 0; i < 20; i++) expect(await ask(client, 'say', { i })).toEqual({ event: 'said', data: { i } });
    expect(await ask(client, 'say')).toEqual({ event: 'exception', data: BODY });
    expect(await ask(client, 'free')).toEqual({ event: 'freed', data: 1 });
    expect(app.http.logs.of('error')).toEqual([]);
    expect(app.http.logs.of('warn')).toEqual([]);
  });

  it('counts by the address of its connection, whatever its payload says', async () => {
    const store = new StillStore();
    await using app = await SocketApp.start(driver, Chat, { store });
    const [client, other] = [await app.connect(), await app.connect({ 'X-Forwarded-For': '6.6.6.6' })];
    const forged = { ip: '6.6.6.6', headers: { 'x-user-id': 'a' }, user: { id: 'b' }, handshake: {}, socket: {} };
    await ask(client, 'say', forged);
    await ask(other, 'say', forged);
    expect(store.keys).toEqual(['rl:{ip:127.0.0.1}:Chat.say:twenty:fw:3600000000']);
  });

  it('counts by the headers of its handshake', async () => {
    const store = new StillStore();
    await using app = await SocketApp.start(driver, Chat, { store, identity: FROM_HEADERS });
    const [ada, bo] = [await app.connect({ 'X-User-Id': 'ada' }), await app.connect({ 'X-User-Id': 'bo' })];
    for (let i = 0; i < 20; i++) await ask(ada, 'say');
    expect(await ask(ada, 'say')).toMatchObject({ event: 'exception' });
    expect(await ask(bo, 'say')).toMatchObject({ event: 'said' });
    expect(store.keys.map((key) => key.slice(0, key.indexOf('}') + 1))).toEqual(['rl:{user:ada}', 'rl:{user:bo}']);
  });

  it.each([
    ['Express', 1],
    ['Express', 'loopback'],
    ['Fastify', '127.0.0.0/8'],
  ] as const)(
    'behind a proxy that %s trusts by %j counts the address that the proxy saw',
    async (platform, trustProxy) => {
      const store = new StillStore();
      await using app = await SocketApp.start(driver, Chat, { store }, { platform, trustProxy });
      for (const forged of ['6.6.6.6', '7.7.7.7']) {
        const client = await app.connect({ 'X-Forwarded-For': `${forged}, 198.51.100.7` });
        await ask(client, 'say');
      }
      expect(store.keys).toEqual(['rl:{ip:198.51.100.7}:Chat.say:twenty:fw:3600000000']);
    },
  );

  it('is limited by the defaults, and not where @SkipRateLimit stands', async () => {
    @WebSocketGateway()
    class Defaults {
      @SubscribeMessage('a')
      a(): unknown {
        return { event: 'answer', data: 'a' };
      }

      @SubscribeMessage('b')
      @SkipRateLimit()
      b(): unknown {
        return { event: 'answer', data: 'b' };
      }
    }
    await using app = await SocketApp.start(driver, Defaults, {
      store: new StillStore(),
      defaults: [{ ...TWENTY, limit: 1 }],
    });
    const client = await app.connect();
    expect(await ask(client, 'a')).toEqual({ event: 'answer', data: 'a' });
    expect(await ask(client, 'a')).toMatchObject({ event: 'exception', data: { statusCode: 429 } });
    for (let i = 0; i < 3; i++) expect(await ask(client, 'b')).toEqual({ event: 'answer', data: 'b' });
  });

  it('is charged once, though the guard is bound three times', async () => {
    @WebSocketGateway()
    @UseGuards(RateLimitGuard)
    class Bound {
      @SubscribeMessage('say')
      @UseGuards(RateLimitGuard)
      @RateLimit(TWENTY)
      say(): unknown {
        return { event: 'said', data: 0 };
      }
    }
    const store = new StillStore();
    await using app = await SocketApp.start(driver, Bound, { store });
    await ask(await app.connect(), 'say');
    expect(store.asked).toHaveLength(1);
  });

  it('is limited by a guard that is bound on the gateway alone', async () => {
    @WebSocketGateway()
    @UseGuards(RateLimitGuard)
    class Bound {
      @SubscribeMessage('say')
      @RateLimit({ ...TWENTY, limit: 1 })
      say(): unknown {
        return { event: 'said', data: 0 };
      }

      @RateLimit({ ...TWENTY, limit: 1 })
      handleConnection(): void {}
    }
    await using app = await SocketApp.start(driver, Bound, { store: new StillStore(), guard: false });
    const client = await app.connect();
    expect(await ask(client, 'say')).toMatchObject({ event: 'said' });
    expect(await ask(client, 'say')).toMatchObject({ event: 'exception' });
    expect(await (await app.connect()).closed).toBe(driver === 'ws' ? 1013 : 'io server disconnect');
  });

  it('waits for its departure slot', async () => {
    @WebSocketGateway()
    class Queue {
      @SubscribeMessage('enter')
      @RateLimit({ name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: '20/s' })
      enter(@MessageBody() n: unknown): unknown {
        return { event: 'entered', data: n };
      }
    }
    await using app = await SocketApp.start(driver, Queue, { store: new StillStore() });
    const client = await app.connect();
    const begun = performance.now();
    expect(await ask(client, 'enter', 1)).toEqual({ event: 'entered', data: 1 });
    expect(await ask(client, 'enter', 2)).toEqual({ event: 'entered', data: 2 });
    expect(performance.now() - begun).toBeGreaterThanOrEqual(50);
  });

  it('gives its departure slot back when its client goes', async () => {
    @WebSocketGateway()
    class Queue {
      @SubscribeMessage('enter')
      @RateLimit({ name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: '1/h' })
      enter(): unknown {
        return { event: 'entered', data: 0 };
      }
    }
    const hours: number[] = [];
    await using app = await SocketApp.start(driver, Queue, {
      store: new StillStore(),
      onDecision: ({ decision }) => hours.push(decision.delayMs / 3_600_000),
    });
    const { waitingRoom } = app.http.app.get(RateLimitRuntime);
    const [leaver, stayer] = [await app.connect(), await app.connect()];
    await ask(stayer, 'enter');
    leaver.emit('enter');
    await until('the message waits', LIMIT_MS, () => waitingRoom.size === 1);
    leaver.close();
    await until('the message has left', LIMIT_MS, () => waitingRoom.size === 0);
    stayer.emit('enter');
    await until('the other message waits', LIMIT_MS, () => waitingRoom.size === 1);
    expect(hours).toEqual([0, 1, 1]);
  });
});

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
      deadlineMs: 10_000,
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
      await using app = await SocketApp.start(driver, gateways, { store: new StillStore() });
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
    await using app = await SocketApp.start(driver, Presence, { store: new StillStore(), deadlineMs: 10_000 });
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

describe('with Redis', () => {
  const redis = useRedis();

  it.each(DRIVERS)('20 of 30 messages over %s pass', async (driver) => {
    await using app = await SocketApp.start(driver, Chat, { redis: redis.server.url });
    const client = await app.connect();
    const answers = Array.from({ length: 30 }, () => ask(client, 'say'));
    const events = (await Promise.all(answers)).map(({ event }) => event);
    expect(events.filter((event) => event === 'said')).toHaveLength(20);
    expect(events.filter((event) => event === 'exception')).toHaveLength(10);
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
