import { Injectable, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { CapturedLogs } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { ask, SocketApp } from './support/socket-app.js';

const ONE = { name: 'one', algorithm: 'fixed-window', limit: 1, window: '1h' } as const satisfies Policy;

@WebSocketGateway()
class Doors {
  @RateLimit(ONE)
  handleConnection(): void {}

  @SubscribeMessage('say')
  @RateLimit(ONE)
  say(): unknown {
    return { event: 'said', data: 0 };
  }
}

describe('at boot', () => {
  it('a gateway that Nest makes anew is told that its connections are not limited', async () => {
    @Injectable({ scope: Scope.REQUEST })
    @WebSocketGateway()
    class Anew extends Doors {}

    await using app = await SocketApp.start('ws', Anew, { store: new StillStore() });
    expect(app.http.logs.of('warn')).toEqual([
      'Anew.handleConnection: connections are not limited in a gateway that Nest makes anew for each connection; limit the ' +
        "gateway's messages RateLimit",
    ]);
    const client = await app.connect();
    expect(await ask(client, 'say')).toEqual({ event: 'said', data: 0 });
    expect(await ask(client, 'say')).toMatchObject({ event: 'exception', data: { statusCode: 429 } });
  });

  it('a gateway of an application without an HTTP server is told that its connections are not limited', async () => {
    const logs = new CapturedLogs();
    @WebSocketGateway(0, { noServer: true })
    class InMicroservice extends Doors {}
    class Root {}
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(
      {
        module: Root,
        imports: [RateLimitModule.forRoot({ store: new StillStore() })],
        providers: [InMicroservice],
      },
      { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 }, logger: logs, abortOnError: false },
    );
    try {
      await app.listen();
      expect(logs.of('warn')).toEqual([
        'InMicroservice.handleConnection: connections are not limited in an application without an HTTP server; limit the ' +
          "gateway's messages RateLimit",
      ]);
    } finally {
      await app.close();
    }
  });
});
