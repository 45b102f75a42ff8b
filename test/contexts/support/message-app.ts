import type { AddressInfo, Server } from 'node:net';
import type { INestMicroservice, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, type ClientProxy, type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { firstValueFrom } from 'rxjs';
import { CapturedLogs } from '../../support/http-app.js';

/** What one message came back with. */
export type Outcome = { readonly answer: unknown } | { readonly error: unknown };

/** A client of message handlers over TCP. */
export class MessageClient implements AsyncDisposable {
  private readonly proxy: ClientProxy;

  constructor(port: number) {
    this.proxy = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
  }

  async send(pattern: unknown, data: unknown = {}): Promise<Outcome> {
    try {
      return { answer: await firstValueFrom(this.proxy.send<unknown>(pattern, data)) };
    } catch (error) {
      return { error };
    }
  }

  /** Sends an event, which nobody answers. */
  async emit(pattern: unknown, data: unknown = {}): Promise<void> {
    await firstValueFrom(this.proxy.emit(pattern, data), { defaultValue: undefined });
  }

  async close(): Promise<void> {
    await this.proxy.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** An application of message handlers alone, over TCP. */
export class MessageApp implements AsyncDisposable {
  constructor(
    readonly app: INestMicroservice,
    readonly logs: CapturedLogs,
    readonly client: MessageClient,
    readonly port: number,
  ) {}

  static async start(metadata: ModuleMetadata): Promise<MessageApp> {
    class Root {}
    const logs = new CapturedLogs();
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(
      { module: Root, ...metadata },
      { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 }, logger: logs, abortOnError: false },
    );
    await app.listen();
    const { port } = app.unwrap<Server>().address() as AddressInfo;
    return new MessageApp(app, logs, new MessageClient(port), port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.app.close();
  }
}
