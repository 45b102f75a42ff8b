import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import { DatabaseError, Pool, types } from 'pg';

/** Connections of a process: plans, histories and the writers seldom need more at once. */
const MAX_CONNECTIONS = 5;
const CONNECT_MS = 2000;
/** A machine that boots may be busy. */
const BOOT_CONNECT_MS = 10_000;
/** PostgreSQL ends a longer statement. */
const STATEMENT_MS = 2000;
/** A server that does not run cannot end its statements, so the client gives up a little later. */
const ANSWER_MS = 2500;
/** Migrations may wait for those of another process. */
const MIGRATION_MS = 30_000;

const INT8 = 20;

export interface PostgresOptions {
  readonly url: string;
  /** Called with the failure of a connection that nobody uses. */
  readonly onIdleError: (error: Error) => void;
  /** For migrations: one connection and more time. */
  readonly migrates?: boolean;
}

/** A PostgreSQL server behind a small pool. No call of it takes longer than the limits above. */
export function postgresDialect({ url, onIdleError, migrates = false }: PostgresOptions): PostgresDialect {
  const pool = new Pool({
    connectionString: url,
    max: migrates ? 1 : MAX_CONNECTIONS,
    application_name: 'ride-hailing',
    connectionTimeoutMillis: migrates ? BOOT_CONNECT_MS : CONNECT_MS,
    statement_timeout: migrates ? MIGRATION_MS : STATEMENT_MS,
    query_timeout: migrates ? MIGRATION_MS : ANSWER_MS,
    keepAlive: true,
    types: { getTypeParser },
  });
  // Without a listener the end of an idle connection would end the process.
  pool.on('error', onIdleError);
  return new PostgresDialect({ pool: mendingPool(pool) });
}

/** Numbers of milliseconds and counts are below 2^53: no text, as `pg` makes of a bigint by default. */
const getTypeParser: typeof types.getTypeParser = ((oid: number, format: 'text') =>
  oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser;

/** A connection whose query got no answer still waits for it, and a fatal error ends the connection. Neither goes back to the pool. */
function mendingPool(pool: Pool): PostgresPool {
  return {
    connect: async () => {
      const client = await pool.connect();
      let broken: Error | undefined;
      return {
        query: async (text: string, values: readonly unknown[]) => {
          try {
            return await client.query(text, [...values]);
          } catch (error) {
            if (!(error instanceof DatabaseError) || error.severity === 'FATAL') broken = error as Error;
            throw error;
          }
        },
        release: () => client.release(broken),
      } as unknown as PostgresPoolClient;
    },
    end: () => pool.end(),
  };
}
