import type { OwnedRedisClient } from './redis-client.js';

/** Milliseconds in which a connection that is being made has to come forward; more where an answer may take long. */
const PATIENCE_MS = 250;
/** It takes that many round trips at most, and a decision one. */
const ROUND_TRIPS = 5;

/**
 * Leaves a connection on which nothing comes back. It may be dead: a network that loses one tells nobody, and however well
 * Redis is then, on that connection it is not heard of again, or only when the kernel sends anew. A new one finds it. Nothing
 * is asked again for that.
 *
 * Not for a Cluster, whose client has many.
 */
export class Lifeline {
  /** Whether nothing came back since a question was given up. */
  private silent = false;
  private timer: NodeJS.Timeout | undefined;

  /** @param deadlineMs how long an answer may take */
  constructor(
    private readonly connection: OwnedRedisClient,
    deadlineMs: number,
  ) {
    const patience = Math.max(PATIENCE_MS, ROUND_TRIPS * deadlineMs);
    const wait = (): void => {
      this.settled();
      this.timer = setTimeout(() => this.watch(patience / 2), patience / 2).unref();
    };
    connection.on('connecting', wait);
    connection.on('connect', wait);
    connection.on('ready', () => this.settled());
    connection.on('close', () => this.settled());
  }

  /** Redis did not answer in time. */
  gaveUp(): void {
    this.silent = true;
  }

  /** It answered, be it late. */
  heard(): void {
    this.silent = false;
  }

  /** To be called some time after questions were given up: what is only slow has answered by then. */
  check(): void {
    if (this.silent && this.connection.status === 'ready') this.leave();
  }

  /** By halves: the Sentinels may have taken the first one to tell where to connect. */
  private watch(ms: number): void {
    const { stream } = this.connection;
    const read = stream?.bytesRead;
    const expired = (): void => {
      if (this.timer === timer && stream === this.connection.stream && stream?.bytesRead === read) this.leave();
    };
    // After a stall of the event loop two of its turns read what lies ready.
    const timer = setTimeout(() => setImmediate(() => setImmediate(expired)), ms).unref();
    this.timer = timer;
  }

  private settled(): void {
    this.silent = false;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private leave(): void {
    this.connection.stream?.destroy(new Error('no answer on the connection'));
  }
}
