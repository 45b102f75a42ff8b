import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { expect, it } from '@jest/globals';
import { type ConcurrencyPolicy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { until } from '../support/faults/until.js';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

// test/exchanges proves when a lease ends in each context, and that none is left.

const TWO: ConcurrencyPolicy = { name: 'two', algorithm: 'concurrency', limit: 2, lease: '30s', scope: 'app' };

async function untilFree(app: { get(type: typeof RateLimiter): RateLimiter }, count: number): Promise<void> {
  await until(`${count} free`, 5_000, async () => {
    const { policies } = await app.get(RateLimiter).peek(TWO, { kind: 'ip', value: '127.0.0.1' });
    return policies[0]!.remaining === count;
  });
}

it.each(DRIVERS)(
  'a gateway over %s has at most two connections of a client at once, for as long as they last',
  async (driver) => {
    @WebSocketGateway()
    class Doors {
      @RateLimit(TWO)
      handleConnection(): void {}

      @SubscribeMessage('say')
      say(): unknown {
        return { event: 'said', data: 0 };
      }
    }
    const clock = new VirtualClock();
    await using app = await SocketApp.start(driver, Doors, { store: new VirtualStore(clock) });
    const [one, two] = [await app.connect(), await app.connect()];
    for (const client of [one, two]) expect(await ask(client, 'say')).toEqual({ event: 'said', data: 0 });
    for (let i = 0; i < 20; i++) clock.advance('10s');
    const third = await app.connect();
    await third.closed;
    one.close();
    await untilFree(app.http.app, 1);
    const fourth = await app.connect();
    expect(await ask(fourth, 'say')).toEqual({ event: 'said', data: 0 });
  },
);
