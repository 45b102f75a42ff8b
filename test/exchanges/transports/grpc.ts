import { fileURLToPath } from 'node:url';
import { type ClientDuplexStream, credentials, loadPackageDefinition, type ServerDuplexStream } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Controller, type ExecutionContext, type Type } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall } from '@nestjs/microservices';
import { RateLimitModule } from 'nestjs-floodgate';
import { from, type Observable } from 'rxjs';
import { listenGrpc } from '../../contexts/support/grpc-app.js';
import { TcpProxy } from '../../support/faults/tcp-proxy.js';
import { handlers, PLAIN, stage, type Work } from '../support/stage.js';
import type { Client, Ending, Moment, Sent, Transport, Way } from '../support/transport.js';
import { endingOfHandler } from './sockets.js';

const PROTO = fileURLToPath(new URL('moments.proto', import.meta.url));
const SAID = { text: 'done' };
const FIRST = { text: 'first' };
const LAST = { text: 'last' };

const Calls = handlers(
  [...PLAIN, 'stream'],
  () => GrpcMethod('Calls'),
  (work) => (work === 'stream' ? (): Observable<unknown> => from(stage.items(FIRST, LAST)) : () => stage.work()),
);
Controller()(Calls);

type ServerCall = ServerDuplexStream<object, object>;

/** The handlers answer their call themselves, after they have returned. */
const Streams = handlers(
  [...PLAIN, 'stream'],
  () => GrpcStreamCall('Streams'),
  (work) =>
    (call: ServerCall): void => {
      void (async () => {
        if (work === 'stream') for await (const item of stage.items(FIRST, LAST)) call.write(item);
        else call.write((await stage.work()) as object);
        call.end();
      })();
    },
);
Controller()(Streams);

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
      const metadata = { imports: [RateLimitModule.forRoot(options)], controllers: [controller] };
      const { app, logs, url, close } = await listenGrpc(metadata, 'moments', PROTO);
      const proxy = await TcpProxy.start(Number(url.split(':').at(-1)));
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
          await close();
          await proxy.stop();
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
