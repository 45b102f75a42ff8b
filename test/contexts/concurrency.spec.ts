import { Controller, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { expect, it } from '@jest/globals';
import { type ConcurrencyPolicy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { until } from '../support/faults/until.js';
import { RateLimitRuntime } from '../support/runtime.js';
import { MessageApp } from './support/message-app.js';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

// test/exchanges proves when a lease ends in each context, and that none is left.

const TWO: ConcurrencyPolicy = { name: 'two', algorithm: 'concurrency', limit: 2, lease: '30s', scope: 'app' };

class Refuses {
  canActivate(): boolean {
    return false;
  }
}

@Controller()
@RateLimit(TWO)
class Work {
  @MessagePattern('fails')
  fails(): never {
    throw new Error('unexpected');
  }

  @EventPattern('happened')
  happened(_data: unknown): void {}

  @MessagePattern('refused')
  @UseGuards(Refuses)
  refused(_data: unknown): void {}
}

async function untilFree(app: { get(type: typeof RateLimiter): RateLimiter }, count: number): Promise<void> {
  await until(`${count} free`, 5_000, async () => {
    const { policies } = await app.get(RateLimiter).peek(TWO, { kind: 'ip', value: '127.0.0.1' });
    return policies[0]!.remaining === count;
  });
}

it('a message over TCP frees its lease when it fails, when an event ends, and where another guard rejects it when the lease ends', async () => {
  const clock = new VirtualClock();
  const imports = [RateLimitModule.forRoot({ store: new VirtualStore(clock) })];
  await using app = await MessageApp.start({ imports, controllers: [Work] });
  await app.client.send('fails');
  await app.client.emit('happened');
  await untilFree(app.app, 2);
  expect(await app.client.send('refused')).toMatchObject({ error: {} });
  await untilFree(app.app, 1);
  expect(app.app.get(RateLimitRuntime).parts.leases.size).toBe(0);
  clock.advance('33s'); // the lease, from its one renewal on
  await untilFree(app.app, 2);
});

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
