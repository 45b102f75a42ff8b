import { randomUUID } from 'node:crypto';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  type ExecutionContext,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { BODY, Chat, TWENTY } from './support/chat.js';
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

  it('counts by its connection, as docs/contexts.md does', async () => {
    const ids = new WeakMap<object, string>();
    const connection = (_: unknown, context: ExecutionContext) => {
      const client = context.switchToWs().getClient<object>();
      const value = ids.get(client) ?? randomUUID();
      ids.set(client, value);
      return { kind: 'connection', value };
    };
    const policy = { ...TWENTY, limit: 1, by: connection };
    @WebSocketGateway()
    class Counted {
      @RateLimit(policy)
      handleConnection(): void {}

      @SubscribeMessage('say')
      @RateLimit(policy)
      say(): unknown {
        return { event: 'said', data: 0 };
      }
    }
    await using app = await SocketApp.start(driver, Counted, { store: new StillStore() });
    for (const client of [await app.connect(), await app.connect()]) {
      expect(await ask(client, 'say')).toMatchObject({ event: 'said' });
      expect(await ask(client, 'say')).toMatchObject({ event: 'exception' });
    }
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

  it.each([true, false])(
    'is limited, and charged once, by a guard that the gateway binds twice: module guard %s',
    async (guard) => {
      @WebSocketGateway()
      @UseGuards(RateLimitGuard)
      class Bound {
        @SubscribeMessage('say')
        @UseGuards(RateLimitGuard)
        @RateLimit({ ...TWENTY, limit: 1 })
        say(): unknown {
          return { event: 'said', data: 0 };
        }

        @RateLimit({ ...TWENTY, limit: 1 })
        handleConnection(): void {}
      }
      await using app = await SocketApp.start(driver, Bound, { store: new StillStore(), guard });
      const client = await app.connect();
      expect(await ask(client, 'say')).toMatchObject({ event: 'said' });
      expect(await ask(client, 'say')).toMatchObject({ event: 'exception' });
      expect(await (await app.connect()).closed).toBe(driver === 'ws' ? 1013 : 'io server disconnect');
    },
  );
});
