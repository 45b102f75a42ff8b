import { afterLoopTime } from '../../loop-timer.js';
import type { ConnectionSocket, ConnectionState, RedisConnection } from '../clients/client.js';

type WatchedConnection = Pick<RedisConnection, 'state' | 'socket' | 'isProbed' | 'firstAnswerMs' | 'onState'>;

/** Milliseconds without a byte after which a connection is replaced. Doubled after each connection that was never ready. */
const PATIENCE_MS = 250;
const MAX_PATIENCE_MS = 10_000;
/** The longest patience before TCP is connected. A lost SYN is repeated by the kernel after a second. */
const MAX_TCP_PATIENCE_MS = 1000;
/** The most round trips that a handshake takes. A decision takes one. */
const ROUND_TRIPS = 5;

/**
 * Replaces a connection that no longer answers: destroys it, so that the client reconnects. A silently dropped TCP connection
 * can stay `ready` until the kernel times out. The watchdog sends nothing itself.
 *
 * It watches a connection until it is ready, and again from the first missed deadline on. Stalls of the event loop do not count.
 */
export class ConnectionWatchdog {
  private cancel: (() => void) | undefined;
  /** Connections in a row that were replaced before they were ready. */
  private replaced = 0;
  private readonly patienceMs: number;

  /** @param deadlineMs milliseconds that an answer may take */
  constructor(
    private readonly connection: WatchedConnection,
    deadlineMs: number,
  ) {
    this.patienceMs = Math.max(PATIENCE_MS, ROUND_TRIPS * deadlineMs);
    connection.onState((state) => this.changed(state));
  }

  /** Redis missed a deadline: replaces the connection if no byte comes for a while. */
  missedDeadline(): void {
    if (this.cancel === undefined && this.connection.state === 'ready') this.watch();
  }

  private changed(state: ConnectionState): void {
    if (state === 'connecting') {
      if (this.connection.isProbed !== true) this.watchTcp();
    } else if (state === 'connected') {
      this.watch();
    } else {
      if (state === 'ready') this.replaced = 0;
      this.rest();
    }
  }

  /** Waits for the socket: before it exists, the client asks the Sentinels, which has time limits of its own. */
  private watchTcp(): void {
    this.rest();
    const { socket } = this.connection;
    this.cancel = afterLoopTime(this.patienceMs / 2, () => {
      const { socket: current, state } = this.connection;
      if (state !== 'connecting') return;
      if (current !== undefined && current !== socket && current.destroyed !== true) this.watch();
      else this.watchTcp();
    });
  }

  private watch(): void {
    this.rest();
    const { socket } = this.connection;
    const read = socket?.bytesRead;
    this.cancel = afterLoopTime(this.patience(socket), () => {
      this.cancel = undefined;
      const { socket: current, state } = this.connection;
      if (current === undefined || current !== socket || current.destroyed === true) return;
      if (current.bytesRead === read) this.replace(current);
      else if (state !== 'ready') this.watch();
    });
  }

  private patience(socket: ConnectionSocket | undefined): number {
    // A ready connection's first answer says nothing about the next one: Redis may have hung just then.
    if (this.connection.state === 'ready') return this.patienceMs;
    const usual = Math.max(this.patienceMs, ROUND_TRIPS * (this.connection.firstAnswerMs ?? 0));
    const most = socket?.connecting === true ? MAX_TCP_PATIENCE_MS : MAX_PATIENCE_MS;
    return Math.min(Math.max(most, this.patienceMs), usual * 2 ** Math.min(this.replaced, 8));
  }

  private rest(): void {
    this.cancel?.();
    this.cancel = undefined;
  }

  private replace(socket: ConnectionSocket): void {
    if (this.connection.state !== 'ready') this.replaced++;
    socket.destroy(new Error('Redis did not answer on the connection'));
  }
}
