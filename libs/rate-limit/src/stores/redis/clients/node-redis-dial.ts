import { afterLoopTime } from '../../loop-timer.js';
import type { NodeRedis } from './node-redis.js';
import { type LinkOwner, NodeRedisLink } from './node-redis-link.js';

/** Milliseconds until a second connection is tried beside a silent one. Doubled for each further one, up to the maximum. */
const FIRST_PATIENCE_MS = 250;
const MAX_PATIENCE_MS = 1000;

/** What a dial tells. */
export interface DialOwner {
  make(link: NodeRedisLink): NodeRedis | Promise<NodeRedis>;
  /** Redis has answered on a connection, after so many milliseconds. */
  answered(link: NodeRedisLink, ms: number): void;
  /** All connections that were tried have failed. */
  failed(error: Error): void;
  /** The connection that had answered is lost. */
  ended(link: NodeRedisLink, error: Error): void;
}

/**
 * Opens a connection on which Redis has answered. A silent connection is kept, since it may only be slow, and further ones are tried
 * beside it: after 250 ms, after another 500, then once a second. So a slow first answer has all of `connectTimeout`, and a lost
 * connection is replaced within a second.
 */
export class NodeRedisDial implements LinkOwner {
  private readonly open = new Map<NodeRedisLink, number>();
  private first: NodeRedisLink | undefined;
  /** The connection that is tried beside the first one. */
  private spare: NodeRedisLink | undefined;
  private winner: NodeRedisLink | undefined;
  private cancelHedge: (() => void) | undefined;

  constructor(private readonly owner: DialOwner) {}

  start(): void {
    this.first = this.try();
    this.hedge(FIRST_PATIENCE_MS);
  }

  destroy(error: Error): void {
    this.cancelHedge?.();
    const { open } = this;
    for (const link of open.keys()) {
      open.delete(link);
      link.destroy(error);
    }
  }

  make(link: NodeRedisLink): NodeRedis | Promise<NodeRedis> {
    return this.owner.make(link);
  }

  connected(): void {}

  /** Waits for the first answer, whatever it is: a user may lack the right. */
  async prepare(link: NodeRedisLink): Promise<void> {
    link.persistence = String(await link.send(['INFO', 'persistence']).catch(() => ''));
  }

  ended(link: NodeRedisLink, error: Error): void {
    if (link === this.winner) this.owner.ended(link, error);
    if (!this.open.delete(link) || this.open.size > 0) return;
    this.cancelHedge?.();
    this.owner.failed(error);
  }

  private try(): NodeRedisLink {
    const link = new NodeRedisLink(this);
    this.open.set(link, performance.now());
    link.open().then(
      () => this.won(link),
      () => undefined, // `ended` was called
    );
    return link;
  }

  private won(link: NodeRedisLink): void {
    const since = this.open.get(link);
    if (since === undefined || link.destroyed) return;
    this.winner = link;
    this.open.delete(link);
    this.destroy(new Error('another connection was faster'));
    this.owner.answered(link, performance.now() - since);
  }

  private hedge(patienceMs: number): void {
    const { first } = this;
    const read = first!.bytesRead;
    this.cancelHedge = afterLoopTime(patienceMs, () => {
      // Another connection would have to wait for the same lookup, and one that was heard is not silent.
      if (first!.client === undefined || first!.isLookingUp || first!.bytesRead > read) return this.hedge(patienceMs);
      const { spare } = this;
      if (spare !== undefined) {
        this.open.delete(spare);
        spare.destroy(new Error('Redis did not answer on the connection'));
      }
      this.spare = this.try();
      this.hedge(Math.min(MAX_PATIENCE_MS, 2 * patienceMs));
    });
  }
}
