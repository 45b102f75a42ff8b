import { Controller, UseGuards } from '@nestjs/common';
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { expect, it } from '@jest/globals';
import { RateLimit, RateLimitGuard, RateLimitModule, SkipRateLimit } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { BODY, TWENTY } from './support/chat.js';
import { MessageApp, MessageClient } from './support/message-app.js';

@Controller()
@UseGuards(RateLimitGuard)
class Rides {
  readonly events: unknown[] = [];

  @MessagePattern('quote')
  @UseGuards(RateLimitGuard)
  @RateLimit(TWENTY)
  quote(@Payload() { km }: { km: number }): number {
    return km * 2;
  }

  @MessagePattern({ cmd: 'free' })
  @SkipRateLimit()
  free(): string {
    return 'free';
  }

  @EventPattern('moved')
  @RateLimit({ ...TWENTY, limit: 2 })
  moved(@Payload() position: unknown): void {
    this.events.push(position);
  }
}

const begin = (options: Parameters<typeof RateLimitModule.forRoot>[0] = {}): Promise<MessageApp> =>
  MessageApp.start({
    imports: [RateLimitModule.forRoot({ store: new StillStore(), ...options })],
    controllers: [Rides],
  });

it('a message is rejected on its 21st call, charged once by a guard that is bound twice, and its sender gets a body', async () => {
  await using app = await begin();
  for (let i = 0; i < 20; i++) expect(await app.client.send('quote', { km: 3 })).toEqual({ answer: 6 });
  expect(await app.client.send('quote', { km: 3 })).toEqual({ error: BODY });
  expect(await app.client.send({ cmd: 'free' })).toEqual({ answer: 'free' });
  expect(app.logs.of('error')).toEqual([]);
});

it('a message counts by the address of its connection, whatever its payload says', async () => {
  const store = new StillStore();
  await using app = await begin({ store });
  await using other = new MessageClient(app.port);
  const forged = { km: 1, ip: '6.6.6.6', headers: { 'x-user-id': 'a' }, user: { id: 'b' }, socket: {} };
  await app.client.send('quote', forged);
  await other.send('quote', { ...forged, ip: '7.7.7.7' });
  expect(store.keys).toEqual(['rl:{ip:127.0.0.1}:Rides.quote:twenty:fw:3600000000']);
});

it('an event that is rejected does not reach its handler, and does not flood the log', async () => {
  await using app = await begin();
  for (let i = 0; i < 5; i++) await app.client.emit('moved', i);
  await app.client.send({ cmd: 'free' });
  expect(app.app.get(Rides).events).toEqual([0, 1]);
  expect(app.logs.of('error')).toEqual([]);
});
