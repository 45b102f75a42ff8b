import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const HOST = '127.0.0.1';

/** Passes connections on, and may keep back the first answer on each new one. */
export class LatePipe {
  /** Milliseconds that the first answer on a new connection is kept back. */
  lateMs = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly listener: Server,
    private readonly target: number,
  ) {}

  static async start(target: number): Promise<LatePipe> {
    const listener = createServer({ noDelay: true });
    const pipe = new LatePipe(listener, target);
    listener.on('connection', (client: Socket) => pipe.accept(client));
    listener.listen(0, HOST);
    await once(listener, 'listening');
    return pipe;
  }

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  close(): void {
    this.listener.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private accept(client: Socket): void {
    const server = connect({ port: this.target, host: HOST, noDelay: true });
    const { lateMs } = this;
    let first: Promise<void> | undefined;
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => {
      if (lateMs > 0) first ??= delay(lateMs);
      if (first === undefined) client.write(bytes);
      else void first.then(() => client.write(bytes));
    });
    this.join(client, server);
    this.join(server, client);
  }

  private join(socket: Socket, other: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', (hadError) => {
      this.sockets.delete(socket);
      if (hadError) other.resetAndDestroy();
      else other.destroySoon();
    });
  }
}
