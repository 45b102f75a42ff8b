import { UseGuards } from '@nestjs/common';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { RateLimitRuntime } from '../support/runtime.js';
import { StillStore } from '../support/still-store.js';
import { BODY, LIMIT_MS, TWENTY } from './support/chat.js';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

const ONE = { ...TWENTY, limit: 1 };
const SAID = { event: 'said', data: 0 };

/** A gateway's messages, and what happened in it. */
class Saying {
  readonly seen: string[] = [];

  @SubscribeMessage('say')
  say(): unknown {
    this.seen.push('said');
    return SAID;
  }
}

/** An identity that a test finds. */
class Later {
  private found: (() => void)[] = [];

  get asked(): number {
    return this.found.length;
  }

  readonly by = (): Promise<{ kind: string; value: string }> =>
    new Promise((resolve) => this.found.push(() => resolve({ kind: 'user', value: 'ada' })));

  async find(): Promise<void> {
    await until('the identity is asked for', LIMIT_MS, () => this.found.length > 0);
    this.found.shift()!();
  }
}

describe.each(DRIVERS)('a connection over %s', (driver) => {
  it('is limited by @RateLimit on handleConnection', async () => {
    @WebSocketGateway()
    class Doors extends Saying {
      @RateLimit({ ...TWENTY, limit: 3 })
      handleConnection(): void {
        this.seen.push('client');
      }
    }
    await using app = await SocketApp.start(driver, Doors, { store: new StillStore() });
    const admitted = [await app.connect(), await app.connect(), await app.connect()];
    const late = await app.connect();
    expect(await late.next()).toEqual({ event: 'exception', data: BODY });
    expect(await late.closed).toBe(driver === 'ws' ? 1013 : 'io server disconnect');
    for (const client of admitted) expect(await ask(client, 'say')).toEqual(SAID);
    expect(app.http.app.get(Doors).seen).toEqual(['client', 'client', 'client', 'said', 'said', 'said']);
    expect([...app.http.logs.of('error'), ...app.http.logs.of('warn')]).toEqual([]);
  });

  it.each([true, false])(
    'gets no message through before it is admitted, beside an open gateway: %s',
    async (isFirst) => {
      const later = new Later();
      @WebSocketGateway()
      class Open {
        @SubscribeMessage('other')
        other(): void {}
      }
      @WebSocketGateway()
      class Limited extends Saying {
        @RateLimit({ ...ONE, by: later.by })
        handleConnection(): void {
          this.seen.push('client');
        }
      }
      const gateways = isFirst ? [Open, Limited] : [Limited, Open];
      await using app = await SocketApp.start(driver, gateways, { store: new StillStore(), deadline: LIMIT_MS });
      const { seen } = app.http.app.get(Limited);
      const first = await app.connect();
      const answer = ask(first, 'say');
      await turns(20);
      expect(seen).toEqual([]);
      await later.find();
      expect(await answer).toEqual(SAID);
      const rejected = await app.connect();
      for (let i = 0; i < 10; i++) rejected.emit('say');
      await turns(20);
      await later.find();
      await rejected.closed;
      expect(seen).toEqual(['client', 'said']);
    },
  );

  it('is charged once by a policy that stands on two gateways, also where handleConnection is an arrow function', async () => {
    const opened: string[] = [];
    @WebSocketGateway()
    class First {
      handleConnection(): void {
        opened.push('first');
      }
    }
    @WebSocketGateway()
    class Second {
      readonly handleConnection = (): void => void opened.push('second');
    }
    const store = new StillStore();
    const defaults = [{ ...ONE, scope: 'app' as const }];
    await using app = await SocketApp.start(driver, [First, Second], { store, defaults });
    await app.connect();
    await until('both have it', LIMIT_MS, () => opened.length === 2);
    expect(store.asked).toHaveLength(1);
    await (
      await app.connect()
    ).closed;
    expect(opened.toSorted()).toEqual(['first', 'second']);
  });

  it('reaches neither handleConnection nor handleDisconnect when it leaves before it is admitted', async () => {
    const seen: string[] = [];
    const later = new Later();
    @WebSocketGateway()
    class Presence {
      @RateLimit({ ...TWENTY, by: later.by })
      handleConnection(): void {
        seen.push('connected');
      }

      handleDisconnect(): void {
        seen.push('disconnected');
      }
    }
    await using app = await SocketApp.start(driver, Presence, { store: new StillStore(), deadline: LIMIT_MS });
    const leaver = await app.connect();
    await until('it is being decided', LIMIT_MS, () => later.asked === 1);
    leaver.close();
    await leaver.closed;
    await turns(20);
    await later.find();
    await turns(20);
    expect(seen).toEqual([]);
    const stayer = await app.connect();
    await later.find();
    await until('the client is connected', LIMIT_MS, () => seen.length === 1);
    stayer.close();
    await until('the client is disconnected', LIMIT_MS, () => seen.length === 2);
    expect(seen).toEqual(['connected', 'disconnected']);
  });

  it.each([
    ['throws undefined', { shouldSkip: () => Promise.reject(undefined) }],
    ['rejects with a body that JSON does not know', { refuse: () => fail({ getResponse: () => ({ big: 1n }) }) }],
  ])('ends when a guard of the application %s, and the process lives', async (_, methods) => {
    class Guard extends RateLimitGuard {}
    Object.assign(Guard.prototype, methods);
    @WebSocketGateway()
    @UseGuards(Guard)
    class Guarded {
      @RateLimit(ONE)
      handleConnection(): void {}
    }
    await using app = await SocketApp.start(driver, Guarded, { store: new StillStore(), guard: false });
    const clients = [await app.connect(), await app.connect()];
    await clients[1]!.closed;
    expect(app.http.logs.of('error').length).toBeLessThanOrEqual(2);
  });

  it('that waits for its slot keeps as many messages waiting as one client may, and rejects the others', async () => {
    @WebSocketGateway()
    class Queue extends Saying {
      @RateLimit({ name: 'door', algorithm: 'leaky-bucket', capacity: 10, drain: '1/h' })
      handleConnection(): void {}
    }
    await using app = await SocketApp.start(driver, Queue, { maxWaitingPerClient: 3, defaults: [TWENTY] });
    await app.connect();
    const room = app.http.app.get(RateLimitRuntime).parts.waitingRoom;
    const waits = await app.connect();
    await until('the connection waits', LIMIT_MS, () => room.size === 1);
    for (let i = 0; i < 20; i++) waits.emit('say', {});
    await until('the others are rejected', LIMIT_MS, () => waits.said.length === 17);
    expect(new Set(waits.said.map(({ event }) => event))).toEqual(new Set(['exception']));
    expect(app.http.app.get(Queue).seen).toEqual([]);
  });
});

function fail(error: unknown = new Error('no')): never {
  throw error;
}

/** Lets the event loop read what clients have sent. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve, 1));
}
