import { afterLoopTime } from '../loop-timer.js';
import { firstAnswerMs } from './connector.js';

/** A connection of ioredis to one server, as far as the watchdog needs it. */
export interface WatchedConnection {
  readonly status: string;
  readonly stream?: WatchedStream;
  on(event: 'connecting' | 'connect' | 'ready' | 'close', listener: () => void): unknown;
}

interface WatchedStream {
  readonly bytesRead: number;
  readonly connecting?: boolean;
  readonly destroyed?: boolean;
  destroy(error: Error): unknown;
}

/** Milliseconds without a byte after which a connection is replaced; doubled after each one that was never ready. */
const PATIENCE_MS = 250;
const MAX_PATIENCE_MS = 10_000;
/** While TCP is not connected: what is lost is a SYN, which the kernel repeats after a second. */
const MAX_TCP_PATIENCE_MS = 1000;
/** A handshake takes that many round trips at most, and a decision one. */
const ROUND_TRIPS = 5;

/**
 * Replaces a connection that no longer answers: destroys it, so that ioredis reconnects. A silently dropped TCP connection
 * can stay `ready` until the kernel times out. Nothing is asked again for that.
 *
 * It watches a connection while it is being made, and from the moment at which Redis has missed a deadline on it. Stalls of
 * this process's event loop do not count.
 */
export class ConnectionWatchdog {
  private cancel: (() => void) | undefined;
  /** Connections in a row that were replaced before they were ready. */
  private replaced = 0;
  private readonly patienceMs: number;

  /**
   * @param deadlineMs how long an answer may take
   * @param opensItself whether ioredis opens the TCP connection itself, as it does for Sentinel; otherwise `PingingConnector`
   *   watches until the first answer
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

  /** Redis missed a deadline: if not a byte comes for a while, the connection is replaced. */
  missedDeadline(): void {
    if (this.cancel === undefined && this.connection.status === 'ready') this.watch();
  }

  /** Until a stream is there, ioredis asks the Sentinels, which has time limits of its own. */
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
    // Once it is ready, how long its first answer took says nothing any more: Redis may have hung just then.
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
    stream.destroy(new Error('no answer on the connection'));
  }
}
