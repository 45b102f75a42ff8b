import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
// Not the globals: a test's fake timers must not stop these.
import { clearTimeout, setTimeout } from 'node:timers';
import { randomPort } from '../redis-server.js';

const HOST = '127.0.0.1';
const PORT_ATTEMPTS = 20;

/** The faults of the network. */
interface Weather {
  readonly delayMs: number;
  /** The milliseconds after a connection's start before its first answer arrives. */
  readonly firstAnswerMs: number;
  readonly losesRequests: boolean;
  readonly losesReplies: boolean;
  readonly resets: boolean;
  /** Cuts the connections of requests that contain this text, this many more times. */
  readonly cut: { readonly containing: string; times: number } | undefined;
}

const FAIR: Weather = {
  delayMs: 0,
  firstAnswerMs: 0,
  losesRequests: false,
  losesReplies: false,
  resets: false,
  cut: undefined,
};

/**
 * A TCP proxy on the loopback interface. A test changes its faults while it runs, for open connections and for new ones.
 *
 * A stream that lost bytes stays lost: the proxy forwards no later bytes in that direction, even without faults. Otherwise a
 * client would take an answer for that to another request, which no real network can cause.
 */
export class TcpProxy {
  readonly host = HOST;
  /** The number of accepted connections, those that the proxy reset at once included. */
  accepted = 0;
  /** The number of connections that `cut` closed after the server got their command. */
  cuts = 0;
  private weather = FAIR;
  private listener: Server | undefined;
  private readonly connections = new Set<Connection>();

  private constructor(
    readonly port: number,
    private readonly targetPort: number,
  ) {}

  static async start(targetPort: number): Promise<TcpProxy> {
    for (let attempt = 1; ; attempt++) {
      const proxy = new TcpProxy(randomPort(), targetPort);
      try {
        await proxy.listen();
        return proxy;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** The number of open client connections. */
  get open(): number {
    return this.connections.size;
  }

  /** Ends all faults, and listens again after `refuse()`. */
  async pass(): Promise<void> {
    this.weather = FAIR;
    if (!this.listener) await this.listen();
  }

  /** Delays every byte by `ms` in each direction. */
  delay(ms: number): void {
    this.weather = { ...FAIR, delayMs: ms };
  }

  /** Delays only the first answer of each new connection, until `ms` after it was accepted. */
  answerLate(ms: number): void {
    this.weather = { ...FAIR, firstAnswerMs: ms };
  }

  /** Accepts connections and drops all bytes. Neither side notices, not even when the other side closes. */
  blackHole(): void {
    this.weather = { ...FAIR, losesRequests: true, losesReplies: true };
  }

  /** Drops all answers. The server still executes the requests. */
  dropReplies(): void {
    this.weather = { ...FAIR, losesReplies: true };
  }

  /**
   * Forwards the next requests that contain a text (default: any request), and closes each one's connection without the answer,
   * once the server has executed it. Passes all other bytes.
   */
  cut({ containing = '', times = 1 }: { containing?: string; times?: number } = {}): void {
    this.weather = { ...FAIR, cut: { containing, times } };
  }

  /** Resets (RST) every connection, and new ones at once. */
  reset(): void {
    this.weather = { ...FAIR, resets: true };
    for (const connection of this.connections) connection.reset();
  }

  /** Closes all connections and refuses new ones, as if no process listened. */
  async refuse(): Promise<void> {
    const { listener } = this;
    this.listener = undefined;
    for (const connection of this.connections) connection.destroy();
    if (!listener) return;
    const closed = once(listener, 'close');
    listener.close();
    await closed;
  }

  async stop(): Promise<void> {
    await this.refuse();
  }

  private async listen(): Promise<void> {
    const listener = createServer({ noDelay: true, allowHalfOpen: true }, (client) => this.accept(client));
    listener.listen(this.port, HOST);
    await once(listener, 'listening');
    listener.on('error', () => undefined); // The client notices a connection that was not accepted.
    this.listener = listener;
  }

  private accept(client: Socket): void {
    this.accepted++;
    if (this.weather.resets) {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const server = connect({ port: this.targetPort, host: HOST, noDelay: true, allowHalfOpen: true });
    const connection = new Connection(client, server, () => this.weather, {
      cut: () => void this.cuts++,
      closed: () => void this.connections.delete(connection),
    });
    this.connections.add(connection);
  }
}

/** A client's socket, and its socket to the server. */
class Connection {
  private cut = false;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly weather: () => Weather,
    tell: { cut: () => void; closed: () => void },
  ) {
    const requests = new Direction(server, () => ({ ...weather(), loses: weather().losesRequests }));
    const acceptedAt = performance.now();
    const replies = new Direction(client, () => {
      const { delayMs, firstAnswerMs, losesReplies } = weather();
      const late = Math.max(delayMs, acceptedAt + firstAnswerMs - performance.now());
      return { delayMs: late, loses: this.cut || losesReplies };
    });
    client.on('data', (bytes) => this.request(requests, bytes));
    server.on('data', (bytes) => replies.pass(bytes));
    for (const socket of [client, server]) socket.on('error', () => undefined); // 'close' follows and is handled.

    const clientLeft = (): void => {
      requests.end();
      // Neither side waits for the other after a loss.
      if (requests.lost || server.destroyed) this.destroy();
    };
    client.on('end', clientLeft);
    client.on('close', () => {
      replies.drop();
      clientLeft();
      tell.closed();
    });
    server.on('end', () => replies.end());
    server.on('close', () => {
      requests.drop();
      if (this.cut) tell.cut();
      else replies.end();
      if (this.cut || (replies.lost && client.readableEnded)) client.destroy();
    });
  }

  reset(): void {
    this.client.resetAndDestroy();
    this.server.resetAndDestroy();
  }

  destroy(): void {
    this.client.destroy();
    this.server.destroy();
  }

  private request(requests: Direction, bytes: Buffer): void {
    if (this.cut) return;
    requests.pass(bytes);
    const { cut } = this.weather();
    if (!cut || cut.times < 1 || requests.lost || !bytes.includes(cut.containing)) return;
    cut.times--;
    this.cut = true;
    // The server closes when it has read to the end, and by then it has executed all requests. An answer would not prove
    // that: it may belong to an earlier request.
    requests.end();
  }
}

/** One direction of a connection. Keeps the bytes in order when the faults change. */
class Direction {
  /** Whether bytes were lost, and with them all later ones. */
  lost = false;
  private readonly underWay: { readonly due: number; readonly bytes: Buffer | undefined }[] = [];
  private timer: NodeJS.Timeout | undefined;
  private ended = false;

  constructor(
    private readonly to: Socket,
    private readonly weather: () => { readonly delayMs: number; readonly loses: boolean },
  ) {}

  pass(bytes: Buffer): void {
    if (!this.ended) this.send(bytes);
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.send(undefined);
  }

  /** Drops the bytes under way: their receiver has closed. */
  drop(): void {
    this.ended = true;
    this.underWay.length = 0;
    clearTimeout(this.timer);
  }

  private send(bytes: Buffer | undefined): void {
    const { delayMs, loses } = this.weather();
    this.lost ||= loses;
    if (this.lost) return;
    if (delayMs === 0 && this.underWay.length === 0) this.deliver(bytes);
    else if (this.underWay.push({ due: performance.now() + delayMs, bytes }) === 1) this.wait();
  }

  private wait(): void {
    const [next] = this.underWay;
    if (!next) return;
    const deliver = (): void => {
      this.deliver(next.bytes);
      this.underWay.shift();
      this.wait();
    };
    this.timer = setTimeout(deliver, Math.max(0, next.due - performance.now()));
  }

  private deliver(bytes: Buffer | undefined): void {
    if (!this.to.writable) return;
    if (bytes) this.to.write(bytes);
    else this.to.end();
  }
}
