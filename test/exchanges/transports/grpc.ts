import { fileURLToPath } from 'node:url';
import { type ClientDuplexStream, credentials, loadPackageDefinition, type ServerDuplexStream } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Controller, type ExecutionContext, type INestApplicationContext, type Type, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  GrpcMethod,
  GrpcStreamCall,
  type MicroserviceOptions,
  Transport as NestTransport,
} from '@nestjs/microservices';
import { RateLimitModule } from 'nestjs-floodgate';
import { from, type Observable } from 'rxjs';
import { CapturedLogs } from '../../support/http-app.js';
import { TcpProxy } from '../../support/faults/tcp-proxy.js';
import { randomPort } from '../../support/redis-server.js';
import { GatedGuard, Limited, stage, type Work } from '../support/stage.js';
import type { Client, Ending, Moment, Sent, Transport, Way } from '../support/transport.js';
import { endingOfHandler } from './ws.js';

const PROTO = fileURLToPath(new URL('moments.proto', import.meta.url));
const PORT_ATTEMPTS = 20;
const SAID = { text: 'done' };
const FIRST = { text: 'first' };
const LAST = { text: 'last' };

@Controller()
@UseGuards(GatedGuard)
class Calls {
  @GrpcMethod('Calls')
  @Limited('work')
  work(): unknown {
    return stage.work();
  }

  @GrpcMethod('Calls')
  @Limited('planned')
  planned(): unknown {
    return stage.work();
  }

  @GrpcMethod('Calls')
  @Limited('chosen')
  chosen(): unknown {
    return stage.work();
  }

  @GrpcMethod('Calls')
  @Limited('queue')
  queue(): unknown {
    return stage.work();
  }

  @GrpcMethod('Calls')
  @Limited('stream')
  stream(): Observable<unknown> {
    return from(stage.items(FIRST, LAST));
  }
}

type ServerCall = ServerDuplexStream<object, object>;

/** Answers a call itself, after the handler has returned. */
function answer(call: ServerCall): void {
  void stage.work().then((said) => {
    call.write(said as object);
    call.end();
  });
}

@Controller()
@UseGuards(GatedGuard)
class Streams {
  @GrpcStreamCall('Streams')
  @Limited('work')
  work(call: ServerCall): void {
    answer(call);
  }

  @GrpcStreamCall('Streams')
  @Limited('planned')
  planned(call: ServerCall): void {
    answer(call);
  }

  @GrpcStreamCall('Streams')
  @Limited('chosen')
  chosen(call: ServerCall): void {
    answer(call);
  }

  @GrpcStreamCall('Streams')
  @Limited('queue')
  queue(call: ServerCall): void {
    answer(call);
  }

  @GrpcStreamCall('Streams')
  @Limited('stream')
  stream(call: ServerCall): void {
    void (async () => {
      for await (const item of stage.items(FIRST, LAST)) call.write(item);
      call.end();
    })();
  }
}

type Call = ClientDuplexStream<object, object>;
type Method = (...args: unknown[]) => Call;
type Stub = Readonly<Record<Work, Method>> & { close(): void };

class GrpcCallClient implements Client {
  private call: Call | undefined;

  /** @param disconnect breaks the connection of all calls */
  constructor(
    private readonly stub: Stub,
    private readonly isStream: boolean,
    private readonly disconnect: (way: Way) => void,
  ) {}

  send(work: Work): Sent {
    if (!this.isStream && work !== 'stream') {
      const done = new Promise<void>((resolve) => {
        this.call = this.stub[work]({}, (error: unknown) => {
          if (error === null) resolve();
        });
      });
      return { first: done, done };
    }
    const call = (this.call = this.isStream ? this.stub[work]() : this.stub[work]({}));
    call.on('error', () => {});
    return {
      first: new Promise((resolve) => call.once('data', resolve)),
      done: new Promise((resolve) => call.once('end', resolve)),
    };
  }

  leave(way: Way): void {
    if (way === 'cancel') this.call!.cancel();
    else if (way !== 'stays') this.disconnect(way);
  }
}

interface CallOfServer {
  readonly cancelled: boolean;
  on(event: 'cancelled', listener: () => void): unknown;
}

/** Where Nest passes the call: third, or first to a handler that answers it. */
function callOf(context: ExecutionContext): CallOfServer {
  return [context.getArgByIndex<unknown>(2), context.getArgByIndex<unknown>(0)].find(
    (one): one is CallOfServer => typeof (one as { getPeer?: unknown } | undefined)?.getPeer === 'function',
  )!;
}

async function listen(
  controller: Type,
  options: Parameters<Transport['open']>[0],
): Promise<{ readonly app: INestApplicationContext; readonly logs: CapturedLogs; readonly port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = randomPort();
    const logs = new CapturedLogs();
    class Root {}
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(
      { module: Root, imports: [RateLimitModule.forRoot(options)], controllers: [controller] },
      {
        transport: NestTransport.GRPC,
        options: { url: `127.0.0.1:${port}`, package: 'moments', protoPath: PROTO },
        logger: logs,
        abortOnError: false,
      },
    );
    try {
      await app.listen();
      return { app, logs, port };
    } catch (error) {
      await app.close();
      if (attempt === PORT_ATTEMPTS || !String(error).includes('EADDRINUSE')) throw error;
    }
  }
}

/** Calls over one connection, which goes through a proxy that can break it. */
function calls(
  name: string,
  service: 'Calls' | 'Streams',
  controller: Type,
  ending: (moment: Moment) => Ending,
): Transport {
  return {
    name,
    value: SAID,
    ways: ['cancel', 'FIN', 'RST', 'stays'],
    without: {},
    leavesUnseen: ['cancel', 'FIN', 'RST'],
    ending,
    async open(options) {
      const { app, logs, port } = await listen(controller, options);
      const proxy = await TcpProxy.start(port);
      const { moments } = loadPackageDefinition(loadSync(PROTO)) as unknown as {
        moments: Readonly<Record<typeof service, new (...args: unknown[]) => Stub>>;
      };
      const stub = new moments[service](`127.0.0.1:${proxy.port}`, credentials.createInsecure());
      let departed = 0;
      stage.seen = (context) => void callOf(context).on('cancelled', () => departed++);
      return {
        app,
        logs,
        client: async () =>
          new GrpcCallClient(stub, service === 'Streams', (way) =>
            way === 'RST' ? proxy.reset() : void proxy.refuse(),
          ),
        departed: () => departed,
        listeners: () => 0,
        async [Symbol.asyncDispose]() {
          stub.close();
          await app.close();
          await proxy[Symbol.asyncDispose]();
        },
      };
    },
  };
}

export const grpcCalls = calls('gRPC calls', 'Calls', Calls, endingOfHandler(SAID));

/** They end with the call, and not with the handler, which returns nothing. */
export const grpcStreamCalls = calls('calls of @GrpcStreamCall', 'Streams', Streams, (moment) => ({
  status: undefined,
  value: undefined,
  error: undefined,
  aborted: moment !== 'answer',
}));
