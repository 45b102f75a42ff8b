import type { AddressInfo, Server } from 'node:net';
import { Controller, Get } from '@nestjs/common';
import { MessagePattern, type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { expect, it } from '@jest/globals';
import { RateLimitModule, type RateLimitModuleExtras, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { MessageClient } from './support/message-app.js';

@Controller()
class Rides {
  @Get()
  @MessagePattern('quote')
  quote(): string {
    return 'q';
  }
}

/** An application that serves HTTP and messages. */
async function hybrid(
  options: RateLimitModuleOptions & RateLimitModuleExtras,
  settings: { inheritAppConfig?: boolean; deferInitialization?: boolean } = {},
): Promise<AsyncDisposable & { http: HttpApp; messages: MessageClient }> {
  const defaults = [{ name: 'two', algorithm: 'fixed-window', limit: 2, window: '1h' } as const];
  const imports = [RateLimitModule.forRoot({ defaults, ...options })];
  let listening: Promise<number> | undefined;
  const http = await start(
    'Express',
    { imports, controllers: [Rides] },
    {
      configure: (app) => {
        const microservice = app.connectMicroservice<MicroserviceOptions>(
          { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } },
          settings,
        );
        listening = app
          .startAllMicroservices()
          .then(() => (microservice.unwrap<Server>().address() as AddressInfo).port);
      },
    },
  );
  const messages = new MessageClient((await listening)!);
  return {
    http,
    messages,
    async [Symbol.asyncDispose]() {
      await messages.close();
      await http.close();
    },
  };
}

it.each([{}, { inheritAppConfig: true }, { deferInitialization: true }])(
  'a hybrid application limits its message handlers, connected with %j',
  async (settings) => {
    const store = new StillStore();
    await using app = await hybrid({ store }, settings);
    for (let i = 0; i < 2; i++) expect(await app.messages.send('quote')).toEqual({ answer: 'q' });
    expect(await app.messages.send('quote')).toMatchObject({ error: { statusCode: 429, policy: 'two' } });
    expect(store.asked).toHaveLength(3);
  },
);
