import type { Server } from 'node:http';
import { Controller, Get } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { beforeEach, expect, it } from '@jest/globals';
import { RateLimitModule } from 'nestjs-floodgate';
import { MessageApp } from '../contexts/support/message-app.js';
import { PLATFORMS, start } from '../support/http-app.js';

const BLOCKING = { imports: [RateLimitModule.forRoot({ blockList: ['127.0.0.0/8', '::1'] })] };

let entered = 0;
beforeEach(() => {
  entered = 0;
});

@Controller()
class Plain {
  @Get()
  @MessagePattern('plain')
  get(): void {
    entered++;
  }
}

/** As if the client had reset its connection before the server accepted it: the address was never readable. */
function loseAddresses(server: Server): void {
  server.prependListener('connection', (socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: undefined }),
  );
}

it.each(PLATFORMS)('over %s, a client without an address passes no block list', async (platform) => {
  await using app = await start(platform, { ...BLOCKING, controllers: [Plain] });
  loseAddresses(app.app.getHttpServer() as Server);
  expect((await app.send('/')).status).toBe(503);
  expect([entered, app.logs.of('error')]).toEqual([0, []]);
});

it('over TCP, a client without an address passes no block list', async () => {
  await using app = await MessageApp.start({ ...BLOCKING, controllers: [Plain] });
  loseAddresses(app.app.unwrap<Server>());
  expect(await app.client.send('plain')).toMatchObject({ error: expect.anything() });
  expect(entered).toBe(0);
});
