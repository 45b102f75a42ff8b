import { setImmediate } from 'node:timers/promises';
import { type ArgumentsHost, Catch, type ExceptionFilter, UseFilters, UseGuards } from '@nestjs/common';
import { MessageBody, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard, SkipRateLimit } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { FROM_HEADERS } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';
import { RateLimitRuntime } from '../support/runtime.js';
import { StillStore } from '../support/still-store.js';
import { BODY, Chat, LIMIT_MS, TWENTY } from './support/chat.js';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

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

  it('is answered by an exception filter of the gateway alone', async () => {
    @Catch(WsException)
    class Filter implements ExceptionFilter<WsException> {
      catch(exception: WsException, host: ArgumentsHost): void {
        const client = host.switchToWs().getClient<{ emit(event: string, data: unknown): void } & WebSocket>();
        if (driver === 'ws') client.send(JSON.stringify({ event: 'refused', data: exception.getError() }));
        else client.emit('refused', exception.getError());
      }
    }
    @WebSocketGateway()
    @UseFilters(Filter)
    class Filtered extends Chat {}
    await using app = await SocketApp.start(driver, Filtered, { store: new StillStore() });
    const client = await app.connect();
    for (let i = 0; i < 20; i++) await ask(client, 'say');
    expect(await ask(client, 'say')).toEqual({ event: 'refused', data: BODY });
    expect(await ask(client, 'free')).toEqual({ event: 'freed', data: 1 });
    expect(client.said).toHaveLength(22);
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
    await setImmediate(); // refunds are sent at the end of a turn
    stayer.emit('enter');
    await until('the other message waits', LIMIT_MS, () => waitingRoom.size === 1);
    expect(hours).toEqual([0, 1, 1]);
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
