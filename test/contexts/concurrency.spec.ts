import { Controller, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { interval, type Observable, take } from 'rxjs';
import { type ConcurrencyPolicy, MemoryStore, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { until } from '../support/faults/until.js';
import { FROM_HEADERS } from '../support/http-app.js';
import { RateLimitRuntime } from '../support/runtime.js';
import { MessageApp, MessageClient } from './support/message-app.js';
import { ask, DRIVERS, SocketApp } from './support/socket-app.js';

const TWO: ConcurrencyPolicy = { name: 'two', algorithm: 'concurrency', limit: 2, lease: '30s', scope: 'app' };
const IP = { kind: 'ip', value: '127.0.0.1' } as const;

let running: (() => void)[] = [];
beforeEach(() => {
  running = [];
});

function finish(): void {
  for (const end of running.splice(0)) end();
}

class Refuses {
  canActivate(): boolean {
    return false;
  }
}

@Controller()
@RateLimit(TWO)
class Work {
  @MessagePattern('hold')
  async hold(): Promise<string> {
    await new Promise<void>((resolve) => running.push(resolve));
    return 'done';
  }

  @MessagePattern('fails')
  fails(): never {
    throw new Error('unexpected');
  }

  @MessagePattern('stream')
  stream(): Observable<number> {
    return interval(20).pipe(take(100));
  }

  @EventPattern('happened')
  happened(_data: unknown): void {}

  @MessagePattern('refused')
  @UseGuards(Refuses)
  refused(_data: unknown): void {}
}

interface HasLimiter {
  get(type: typeof RateLimiter): RateLimiter;
}

async function untilFree(app: HasLimiter, count: number): Promise<void> {
  await until(`${count} free`, 5_000, async () => {
    const { policies } = await app.get(RateLimiter).peek(TWO, IP);
    return policies[0]!.remaining === count;
  });
}

describe('a message over TCP', () => {
  const module = (store = new MemoryStore()) => ({
    imports: [RateLimitModule.forRoot({ store })],
    controllers: [Work],
  });

  it('holds its lease until its handler has ended', async () => {
    await using app = await MessageApp.start(module());
    const two = [app.client.send('hold'), app.client.send('hold')];
    await until('two run', 5_000, () => running.length === 2);
    expect(await app.client.send('hold')).toMatchObject({ error: { error: 'rate_limit_exceeded', retry_after: 1 } });
    finish();
    expect(await Promise.all(two)).toEqual([{ answer: 'done' }, { answer: 'done' }]);
    await untilFree(app.app, 2);
    for (let i = 0; i < 4; i++) {
      await app.client.send('fails');
      await app.client.emit('happened');
      await untilFree(app.app, 2);
    }
  });

  it('is released when its client leaves, and a stream when it ends', async () => {
    await using app = await MessageApp.start(module());
    const client = new MessageClient(app.port);
    void client.send('hold');
    void client.send('stream');
    await untilFree(app.app, 0);
    await client.close();
    await untilFree(app.app, 2);
    expect(running).toHaveLength(1); // the handler runs on
  });

  it('that another guard rejects frees its lease when that ends', async () => {
    const clock = new VirtualClock();
    await using app = await MessageApp.start(module(new VirtualStore(clock)));
    expect(await app.client.send('refused')).toMatchObject({ error: {} });
    await untilFree(app.app, 1);
    expect(app.app.get(RateLimitRuntime).leases.size).toBe(0);
    clock.advance('30s');
    await untilFree(app.app, 2);
  });
});

describe.each(DRIVERS)('a gateway over %s', (driver) => {
  @WebSocketGateway()
  class Doors {
    @RateLimit(TWO)
    handleConnection(): void {}

    @SubscribeMessage('say')
    say(): unknown {
      return { event: 'said', data: 0 };
    }
  }

  it('has at most two connections of a client at once, for as long as they last', async () => {
    const clock = new VirtualClock();
    await using app = await SocketApp.start(driver, Doors, { store: new VirtualStore(clock), identity: FROM_HEADERS });
    const [one, two] = [await app.connect(), await app.connect()];
    for (const client of [one, two]) expect(await ask(client, 'say')).toEqual({ event: 'said', data: 0 });
    for (let i = 0; i < 20; i++) clock.advance('10s');
    const third = await app.connect();
    await third.closed;
    one.close();
    await untilFree(app.http.app, 1);
    const fourth = await app.connect();
    expect(await ask(fourth, 'say')).toEqual({ event: 'said', data: 0 });
  });
});
