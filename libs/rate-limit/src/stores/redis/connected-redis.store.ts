import { Logger } from '@nestjs/common';
import { RedisStore, type RedisStoreOptions } from './redis.store.js';
import type { OwnedRedisClient } from './redis-client.js';

/** One warning a second at most of a connection that fails again and again. */
const WARNING_INTERVAL_MS = 1000;
/** Boot and shutdown wait no longer for a server that accepts connections and answers nothing. */
const PATIENCE_MS = 1000;

/** A `RedisStore` on a client that is its own: it connects at boot and closes at shutdown. */
export class ConnectedRedisStore extends RedisStore {
  private readonly logger = new Logger('RateLimit');
  private warnedAt = -Infinity;

  constructor(
    private readonly connection: OwnedRedisClient,
    options?: RedisStoreOptions,
  ) {
    super(connection, options);
    connection.on('error', (error) => this.warn(error));
  }

  /** Goes on when Redis is away: the client keeps trying, and until then requests go by `onStoreFailure`. */
  async connect(): Promise<void> {
    try {
      await withinPatience(this.connection.connect());
    } catch (error) {
      this.warn(error as Error);
    }
  }

  async close(): Promise<void> {
    try {
      await withinPatience(this.connection.quit());
    } catch {
      this.connection.disconnect(); // it was not connected, or is not answered
    }
  }

  private warn(error: Error): void {
    const now = performance.now();
    if (now - this.warnedAt < WARNING_INTERVAL_MS) return;
    this.warnedAt = now;
    this.logger.warn(`Redis connection: ${error.message || error.name}`);
  }
}

async function withinPatience(answer: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const impatience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    await Promise.race([answer, impatience]);
  } finally {
    clearTimeout(timer);
  }
}
