import { once } from 'node:events';
import { connect } from 'node:net';
import { Controller, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitGuard, RateLimitModule, SkipRateLimit } from 'nestjs-floodgate';
import { useRedis } from '../support/redis-fixture.js';
import { StillStore } from '../support/still-store.js';
import { MessageApp, MessageClient, type Outcome } from './support/message-app.js';

const TWENTY = { name: 'twenty', algorithm: 'fixed-window', limit: 20, window: '1h' } as const satisfies Policy;

@Controller()
class Rides {
  readonly events: unknown[] = [];

  @MessagePattern('quote')
  @RateLimit(TWENTY)
  quote(@Payload() { km }: { km: number }): number {
    return km * 2;
  }

  @MessagePattern({ cmd: 'free' })
  free(): string {
    return 'free';
  }

  @EventPattern('moved')
  @RateLimit({ ...TWENTY, limit: 2 })
  moved(@Payload() position: unknown): void {
    this.events.push(position);
  }
}

const limitedWith = (options: Parameters<typeof RateLimitModule.forRoot>[0] = {}) => ({
  imports: [RateLimitModule.forRoot({ store: new StillStore(), ...options })],
  controllers: [Rides],
});

const rejected = (outcome: Outcome): unknown => ('error' in outcome ? outcome.error : undefined);

describe('a message over TCP', () => {
  it('is rejected on its 21st call, and its sender gets the body of a 429', async () => {
    await using app = await MessageApp.start(limitedWith());
    for (let i = 0; i < 20; i++) expect(await app.client.send('quote', { km: 3 })).toEqual({ answer: 6 });
    expect(await app.client.send('quote', { km: 3 })).toEqual({
      error: {
        statusCode: 429,
        error: 'rate_limit_exceeded',
        message: 'Too many requests, retry in 3600 seconds',
        retry_after: 3600,
        retry_after_ms: 3_600_000,
        policy: 'twenty',
      },
    });
    expect(await app.client.send({ cmd: 'free' })).toEqual({ answer: 'free' });
    expect(app.logs.of('error')).toEqual([]);
  });

  it('of a sender that resets its connection counts under no other identity', async () => {
    const store = new StillStore();
    await using app = await MessageApp.start(limitedWith({ store }));
    const socket = connect(app.port, '127.0.0.1');
    await once(socket, 'connect');
    const packet = JSON.stringify({ pattern: 'quote', data: { km: 1 }, id: '1' });
    socket.write(`${packet.length}#${packet}`, () => socket.resetAndDestroy());
    await once(socket, 'close');
    for (let i = 0; i < 3; i++) await app.client.send({ cmd: 'free' });
    // Whether the message is read before the reset is a matter of luck.
    expect([[], ['rl:{ip:127.0.0.1}:Rides.quote:twenty:fw:3600000000']]).toContainEqual(store.keys);
  });

  it('counts by the address of its connection, whatever its payload says', async () => {
    const store = new StillStore();
    await using app = await MessageApp.start(limitedWith({ store }));
    await using other = new MessageClient(app.port);
    const forged = { km: 1, ip: '6.6.6.6', headers: { 'x-user-id': 'a' }, user: { id: 'b' }, socket: {} };
    await app.client.send('quote', forged);
    await other.send('quote', { ...forged, ip: '7.7.7.7' });
    expect(store.keys).toEqual(['rl:{ip:127.0.0.1}:Rides.quote:twenty:fw:3600000000']);
  });
});

describe('with Redis', () => {
  const redis = useRedis();

  it('a message is rejected on its 21st call', async () => {
    await using app = await MessageApp.start({
      imports: [RateLimitModule.forRoot({ redis: redis.server.url, deadline: 5_000 })],
      controllers: [Rides],
    });
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => app.client.send('quote', { km: 1 })));
    expect(outcomes.filter((outcome) => 'answer' in outcome)).toHaveLength(20);
    expect(outcomes.map(rejected).filter(Boolean)).toHaveLength(10);
  });
});

describe('one message', () => {
  it('is charged once, though the guard is bound three times', async () => {
    @Controller()
    @UseGuards(RateLimitGuard)
    class Bound {
      @MessagePattern('quote')
      @UseGuards(RateLimitGuard)
      @RateLimit(TWENTY)
      quote(): string {
        return 'q';
      }
    }
    const store = new StillStore();
    await using app = await MessageApp.start({ ...limitedWith({ store }), controllers: [Bound] });
    await app.client.send('quote');
    expect(store.asked).toHaveLength(1);
  });

  it('is limited by the defaults, and not where @SkipRateLimit stands', async () => {
    @Controller()
    class Defaults {
      @MessagePattern('a')
      a(): string {
        return 'a';
      }

      @MessagePattern('b')
      @SkipRateLimit()
      b(): string {
        return 'b';
      }
    }
    const defaults = [{ ...TWENTY, limit: 1 }];
    await using app = await MessageApp.start({ ...limitedWith({ defaults }), controllers: [Defaults] });
    expect(await app.client.send('a')).toEqual({ answer: 'a' });
    expect(rejected(await app.client.send('a'))).toMatchObject({ statusCode: 429 });
    for (let i = 0; i < 3; i++) expect(await app.client.send('b')).toEqual({ answer: 'b' });
  });
});

describe('an event that is rejected', () => {
  it('does not reach its handler, and does not flood the log', async () => {
    await using app = await MessageApp.start(limitedWith());
    for (let i = 0; i < 5; i++) await app.client.emit('moved', i);
    await app.client.send({ cmd: 'free' });
    expect(app.app.get(Rides).events).toEqual([0, 1]);
    expect(app.logs.of('error')).toEqual([]);
  });
});
