import { once } from 'node:events';
import type { INestApplication, Type } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { RateLimitModule, type RateLimitModuleExtras, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { io, type Socket } from 'socket.io-client';
import { WebSocket } from 'ws';
import { type HttpApp, type Platform, start } from '../../support/http-app.js';

export type Driver = 'socket.io' | 'ws';

export const DRIVERS: readonly Driver[] = ['socket.io', 'ws'];

/** What the server said to a client: the event's name and its data. */
export interface Said {
  readonly event: string;
  readonly data: unknown;
}

/** A client of a gateway, over either driver. It collects what it is told. */
export interface SocketClient {
  readonly said: readonly Said[];
  /** Sends a message, and does not wait. */
  emit(event: string, data?: unknown): void;
  /** The next thing that the server says. */
  next(): Promise<Said>;
  /** Settles with the close code of a WebSocket, or with socket.io's reason. */
  readonly closed: Promise<number | string>;
  close(): void;
}

/** Sends a message and waits for what comes next. */
export async function ask(client: SocketClient, event: string, data: unknown = {}): Promise<Said> {
  const next = client.next();
  client.emit(event, data);
  return next;
}

/** Collects what the server says, for `next`. */
class Inbox {
  readonly said: Said[] = [];
  private readonly waiting: ((said: Said) => void)[] = [];
  private read = 0;

  put(said: Said): void {
    this.said.push(said);
    this.hand();
  }

  next(): Promise<Said> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.hand();
    });
  }

  private hand(): void {
    while (this.waiting.length > 0 && this.read < this.said.length) this.waiting.shift()!(this.said[this.read++]!);
  }
}

/** An application with gateways. */
export class SocketApp implements AsyncDisposable {
  private readonly clients: SocketClient[] = [];

  private constructor(
    private readonly driver: Driver,
    readonly http: HttpApp,
  ) {}

  static async start(
    driver: Driver,
    gateways: Type | Type[],
    options: RateLimitModuleOptions & RateLimitModuleExtras = {},
    { platform = 'Express', trustProxy }: { platform?: Platform; trustProxy?: boolean | number | string } = {},
  ): Promise<SocketApp> {
    const http = await start(
      platform,
      { imports: [RateLimitModule.forRoot(options)], providers: [gateways].flat() },
      {
        ...(trustProxy !== undefined && { trustProxy }),
        configure: (app: INestApplication) =>
          app.useWebSocketAdapter(driver === 'ws' ? new WsAdapter(app) : new IoAdapter(app)),
      },
    );
    return new SocketApp(driver, http);
  }

  /** Connects a client, which may be turned away at once. */
  connect(headers: Readonly<Record<string, string>> = {}): Promise<SocketClient> {
    const client = this.driver === 'ws' ? this.connectNative(headers) : this.connectSocketIo(headers);
    return client.then((connected) => {
      this.clients.push(connected);
      return connected;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) client.close();
    await this.http.close();
  }

  private async connectNative(headers: Readonly<Record<string, string>>): Promise<SocketClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${this.http.port}/`, { headers });
    const inbox = new Inbox();
    socket.on('message', (data: Buffer) => inbox.put(JSON.parse(data.toString()) as Said));
    const closed = once(socket, 'close').then(([code]) => code as number);
    await once(socket, 'open');
    return {
      said: inbox.said,
      emit: (event, data) => socket.send(JSON.stringify({ event, data })),
      next: () => inbox.next(),
      closed,
      close: () => socket.terminate(),
    };
  }

  private async connectSocketIo(headers: Readonly<Record<string, string>>): Promise<SocketClient> {
    const socket: Socket = io(`http://127.0.0.1:${this.http.port}`, {
      extraHeaders: { ...headers },
      transports: ['websocket'],
      reconnection: false,
      forceNew: true,
    });
    const inbox = new Inbox();
    socket.onAny((event: string, data: unknown) => inbox.put({ event, data }));
    const closed = new Promise<string>((resolve) => socket.on('disconnect', resolve));
    await new Promise<void>((resolve, reject) => {
      socket.on('connect', resolve);
      socket.on('connect_error', reject);
    });
    return {
      said: inbox.said,
      emit: (event, data) => socket.emit(event, data),
      next: () => inbox.next(),
      closed,
      close: () => socket.disconnect(),
    };
  }
}
