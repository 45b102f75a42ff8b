import type { AddressInfo, Server } from 'node:net';
import { Controller, Get, type Provider } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { MessagePattern, type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  identityTag,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { type HttpApp, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { MessageClient } from './support/message-app.js';

@Controller()
class Rides {
  @Get()
  route(): string {
    return 'r';
  }

  @MessagePattern('quote')
  quote(): string {
    return 'q';
  }
}

const opened: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

/** An application that serves HTTP and messages. */
async function hybrid(
  options: RateLimitModuleOptions & RateLimitModuleExtras,
  settings: { inheritAppConfig?: boolean; deferInitialization?: boolean },
  providers: Provider[] = [],
): Promise<{ http: HttpApp; messages: MessageClient }> {
  const imports = [
    RateLimitModule.forRoot({
      defaults: [{ name: 'two', algorithm: 'fixed-window', limit: 2, window: '1h' }],
      ...options,
    }),
  ];
  let listening: Promise<unknown> | undefined;
  let port = 0;
  const http = await start(
    'Express',
    { imports, controllers: [Rides], providers },
    {
      configure: (app) => {
        const microservice = app.connectMicroservice<MicroserviceOptions>(
          { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } },
          settings,
        );
        listening = app.startAllMicroservices().then(() => {
          ({ port } = microservice.unwrap<Server>().address() as AddressInfo);
        });
      },
    },
  );
  await listening;
  const messages = new MessageClient(port);
  opened.push(
    () => http.close(),
    () => messages.close(),
  );
  return { http, messages };
}

describe('a hybrid application', () => {
  it.each([{}, { inheritAppConfig: true }, { deferInitialization: true }])(
    'limits its message handlers, connected with %j',
    async (settings) => {
      const store = new StillStore();
      const { http, messages } = await hybrid({ store }, settings);
      for (let i = 0; i < 2; i++) expect(await messages.send('quote')).toEqual({ answer: 'q' });
      expect(await messages.send('quote')).toMatchObject({ error: { statusCode: 429, policy: 'two' } });
      expect(store.asked).toHaveLength(3);
      expect(await http.crowd(3, '/')).toEqual({ 200: 2, 429: 1 });
    },
  );

  it('limits them by the guard of the application, which knows clients by itself', async () => {
    class Tenants extends RateLimitGuard {
      protected override identityTag(): string {
        return identityTag({ kind: 'tenant', value: 't1' });
      }
    }
    const store = new StillStore();
    const { messages } = await hybrid({ store, guard: false }, {}, [{ provide: APP_GUARD, useClass: Tenants }]);
    expect(await messages.send('quote')).toEqual({ answer: 'q' });
    expect(store.keys).toEqual([expect.stringContaining('rl:{tenant:t1}')]);
  });

  it('leaves its message handlers to the application with guard: false', async () => {
    const store = new StillStore();
    const { messages } = await hybrid({ store, guard: false }, {});
    for (let i = 0; i < 3; i++) expect(await messages.send('quote')).toEqual({ answer: 'q' });
    expect(store.asked).toEqual([]);
  });
});
