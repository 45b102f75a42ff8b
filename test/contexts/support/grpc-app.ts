import { fileURLToPath } from 'node:url';
import { type Client, credentials, loadPackageDefinition, Metadata, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type MicroserviceOptions, Transport } from '@nestjs/microservices';
import { randomPort } from '../../../tools/redis-server.js';
import { CapturedLogs } from '../../support/http-app.js';

export const PROTO = fileURLToPath(new URL('rides.proto', import.meta.url));
const PORT_ATTEMPTS = 20;

/** What came of a call: the answers, and the error that ended it. */
export interface CallOutcome {
  readonly answers: readonly unknown[];
  readonly error?: ServiceError;
}

/** A call with a stream of requests or answers, of a client without types. */
interface Stream {
  on(event: string, listener: (value: never) => void): this;
  write(request: object): void;
  end(): void;
}

type Method = (...args: unknown[]) => Stream;

/** A client of rides.proto. */
export class GrpcClient implements Disposable {
  private readonly client: Client & Readonly<Record<string, Method>>;

  constructor(url: string) {
    const { rides } = loadPackageDefinition(loadSync(PROTO)) as unknown as {
      rides: { Rides: new (...args: unknown[]) => Client & Readonly<Record<string, Method>> };
    };
    this.client = new rides.Rides(url, credentials.createInsecure());
  }

  /** Calls a method with one request and one answer. */
  ask(method: string, headers: Readonly<Record<string, string>> = {}): Promise<CallOutcome> {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return new Promise((resolve) => {
      this.client[method]!({ km: 2 }, metadata, (error: ServiceError | null, answer: unknown) =>
        resolve(error === null ? { answers: [answer] } : { answers: [], error }),
      );
    });
  }

  /** Calls a method with a stream of two requests and one answer. */
  gather(method: string): Promise<CallOutcome> {
    return new Promise((resolve) => {
      const call = this.client[method]!((error: ServiceError | null, answer: unknown) =>
        resolve(error === null ? { answers: [answer] } : { answers: [], error }),
      );
      call.on('error', () => {});
      send(call);
    });
  }

  /** Calls a method with a stream of answers, and with one request or a stream of two. */
  stream(method: string, requests: 'one' | 'two'): Promise<CallOutcome> {
    return new Promise((resolve) => {
      const answers: unknown[] = [];
      const call = requests === 'one' ? this.client[method]!({ km: 2 }) : this.client[method]!();
      call.on('data', (answer: unknown) => answers.push(answer));
      call.on('error', (error: ServiceError) => resolve({ answers, error }));
      call.on('end', () => resolve({ answers }));
      if (requests === 'two') send(call);
    });
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}

function send(call: Stream): void {
  call.write({ km: 1 });
  call.write({ km: 2 });
  call.end();
}

/** An application that serves rides.proto. */
export class GrpcApp implements AsyncDisposable {
  readonly client: GrpcClient;

  private constructor(
    readonly app: INestApplicationContext,
    readonly logs: CapturedLogs,
    readonly url: string,
  ) {
    this.client = new GrpcClient(url);
  }

  /** @param host of the address to listen on, or the whole address of a UNIX domain socket */
  static async start(metadata: ModuleMetadata, host?: string): Promise<GrpcApp> {
    const { app, logs, url } = await listenGrpc(metadata, 'rides', PROTO, host);
    return new GrpcApp(app, logs, url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client[Symbol.dispose]();
    await this.app.close();
  }
}

/** Serves a package of a proto file on a port that is free. */
export async function listenGrpc(
  metadata: ModuleMetadata,
  name: string,
  protoPath: string,
  host = '127.0.0.1',
): Promise<{ app: INestApplicationContext; logs: CapturedLogs; url: string; close: () => Promise<void> }> {
  for (let attempt = 1; ; attempt++) {
    const url = host.startsWith('unix:') ? host : `${host}:${randomPort()}`;
    const logs = new CapturedLogs();
    class Root {}
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(
      { module: Root, ...metadata },
      { transport: Transport.GRPC, options: { url, package: name, protoPath }, logger: logs, abortOnError: false },
    );
    try {
      await app.listen();
      return { app, logs, url, close: () => app.close() };
    } catch (error) {
      await app.close();
      if (attempt === PORT_ATTEMPTS || !String(error).includes('EADDRINUSE')) throw error;
    }
  }
}
