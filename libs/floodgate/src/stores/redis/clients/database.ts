import { RateLimitConfigError, shown } from '../../../util/config-error.js';
import { withinLoopTime } from '../../loop-timer.js';
import type { OwnedClient } from './client.js';
import { isErrorReply } from './client-failure.js';
import type { RedisConnectionOptions } from './redis-options.js';

const PATIENCE_MS = 1000;

/** Redis refuses the configured database. Keys would go to database 0, among those of others. */
export class DatabaseRefusedError extends Error {
  constructor(
    readonly database: number,
    cause: Error,
  ) {
    super(`Redis refuses database ${database}: ${cause.message}`, { cause });
  }

  /**
   * The error that stops the boot.
   *
   * @param where how it begins
   */
  forBoot(where: string): RateLimitConfigError {
    return new RateLimitConfigError(
      where,
      `${this.message}. Give a database that is there (redis.conf, databases), and its user the right +select; a Cluster has ` +
        `database 0 alone`,
      'FG_REDIS_DATABASE',
    );
  }
}

/**
 * Checks the database that a URL or ioredis options name. ioredis ignores a value that is not a number, and stays in database
 * 0.
 *
 * @param where how errors begin
 * @throws {RateLimitConfigError} for anything but a whole number from 0
 */
export function checkDatabase(redis: string | RedisConnectionOptions, where: string): void {
  if (typeof redis !== 'string') return checkNumber(redis.db, where);
  const { pathname, searchParams } = new URL(redis);
  const given = pathname.length > 1 ? pathname.slice(1) : (searchParams.get('db') ?? '0');
  if (/^\d{1,9}$/.test(given)) return;
  // A password whose slash is not escaped ends up in the path, so the path is not shown.
  throw new RateLimitConfigError(
    where,
    `the path of the URL must be the number of a database, as in redis://host:6379/1. In a password, / is written %2F`,
    'FG_REDIS_DATABASE',
  );
}

function checkNumber(db: unknown, where: string): void {
  if (db === undefined || db === null || (Number.isSafeInteger(db) && (db as number) >= 0)) return;
  if (typeof db === 'string' && /^\d{1,9}$/.test(db)) return;
  throw new RateLimitConfigError(
    where,
    `db must be the number of a database, a whole number from 0, got ${shown(db)}`,
    'FG_REDIS_DATABASE',
  );
}

/**
 * Asks Redis for the client's database once more. ioredis has asked when it connected. If Redis refused, ioredis continues in
 * database 0.
 *
 * @throws {DatabaseRefusedError} when Redis refuses
 * @throws {Error} when it does not answer
 */
export async function expectDatabase(client: OwnedClient): Promise<void> {
  const { database } = client;
  if (database === 0) return;
  try {
    await withinLoopTime(PATIENCE_MS, client.command('SELECT', String(database)));
  } catch (error) {
    const failure = error as Error;
    throw isErrorReply(failure) ? new DatabaseRefusedError(database, failure) : failure;
  }
}
