import { afterLoopTime } from '../../loop-timer.js';
import { firstAnswerMs } from '../clients/connector.js';
import type { WatchedConnection, WatchedStream } from '../clients/redis-client.js';

/** Milliseconds without a byte after which a connection is replaced. Doubled after each connection that was never ready. */
const PATIENCE_MS = 250;
const MAX_PATIENCE_MS = 10_000;
/** The longest patience before TCP is connected. A lost SYN is repeated by the kernel after a second. */
const MAX_TCP_PATIENCE_MS = 1000;
/** The most round trips that a handshake takes. A decision takes one. */
const ROUND_TRIPS = 5;

/**
 * Replaces a connection that no longer answers: destroys it, so that ioredis reconnects. A silently dropped TCP connection
 * can stay `ready` until the kernel times out. The watchdog sends nothing itself.
 *
 * It watches a connection until it is ready, and again from the first missed deadline on. Stalls of the event loop do not count.
 */
export class ConnectionWatchdog {
  private cancel: (() => void) | undefined;
  /** Connections in a row that were replaced before they were ready. */
  private replaced = 0;
  private readonly patienceMs: number;

  /**
   * @param deadlineMs milliseconds that an answer may take
   * @param opensItself whether ioredis opens the TCP connection, as it does with Sentinel; otherwise `PingingConnector` watches
   *   until the first answer
   */
  constructor(
    private readonly connection: WatchedConnection,
    deadlineMs: number,
    opensItself: boolean,
  ) {
    this.patienceMs = Math.max(PATIENCE_MS, ROUND_TRIPS * deadlineMs);
    if (opensItself) connection.on('connecting', () => this.watchTcp());
    connection.on('connect', () => this.watch());
    connection.on('ready', () => {
      this.replaced = 0;
      this.rest();
    });
    connection.on('close', () => this.rest());
  }

  /** Redis missed a deadline: replaces the connection if no byte comes for a while. */
  missedDeadline(): void {
    if (this.cancel === undefined && this.connection.status === 'ready') this.watch();
  }

  /** Waits for the stream: before it exists, ioredis asks the Sentinels, which has time limits of its own. */
  private watchTcp(): void {
    this.rest();
    const { stream } = this.connection;
    this.cancel = afterLoopTime(this.patienceMs / 2, () => {
      const { stream: current, status } = this.connection;
      if (status !== 'connecting') return;
      if (current !== undefined && current !== stream && current.destroyed !== true) this.watch();
      else this.watchTcp();
    });
  }

  private watch(): void {
    this.rest();
    const { stream } = this.connection;
    const read = stream?.bytesRead;
    this.cancel = afterLoopTime(this.patience(stream), () => {
      this.cancel = undefined;
      const { stream: current, status } = this.connection;
      if (current === undefined || current !== stream || current.destroyed === true) return;
      if (current.bytesRead === read) this.replace(current);
      else if (status !== 'ready') this.watch();
    });
  }

  private patience(stream: WatchedStream | undefined): number {
    // A ready connection's first answer says nothing about the next one: Redis may have hung just then.
    if (this.connection.status === 'ready') return this.patienceMs;
    const usual = Math.max(this.patienceMs, ROUND_TRIPS * firstAnswerMs(stream));
    const most = stream?.connecting === true ? MAX_TCP_PATIENCE_MS : MAX_PATIENCE_MS;
    return Math.min(Math.max(most, this.patienceMs), usual * 2 ** Math.min(this.replaced, 8));
  }

  private rest(): void {
    this.cancel?.();
    this.cancel = undefined;
  }

  private replace(stream: WatchedStream): void {
    if (this.connection.status !== 'ready') this.replaced++;
    stream.destroy(new Error('Redis did not answer on the connection'));
  }
}
