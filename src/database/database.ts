import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Kysely, type Migration, Migrator } from 'kysely';
import { DatabaseError } from 'pg';
import { EnvironmentError } from '../config/read-configuration.js';
import { DatabaseUnavailableError } from './database-unavailable.js';
import { embeddedDialect } from './embedded.js';
import { type Dialect, migrationsFor } from './migrations.js';
import { postgresDialect } from './postgres.js';
import type { Tables } from './tables.js';

/** Something that has to be written before the database closes. */
export interface Writer {
  /** What it writes, such as `trips`. */
  readonly name: string;
  /** Rows that wait. */
  readonly pending: number;
  /** Rows that will never be written, since the start. */
  readonly dropped: number;
  /** Writes what waits, or rejects. */
  flush(): Promise<void>;
  /** Called after the last `flush`: what still waits is lost. */
  abandon(): void;
}

/** The longest that a closing process waits for its last writes. It ends within a second of its grace period. */
const LAST_WRITES_MS = 600;
const WARNING_EVERY_MS = 10_000;

/**
 * The database of the application: PostgreSQL where `DATABASE_URL` says so, else SQLite in this process.
 *
 * Riders are served without it: whoever writes keeps what waits, and whoever reads says that it is unavailable.
 */
export class Database implements OnApplicationShutdown {
  private readonly logger = new Logger('Database');
  private readonly registered: Writer[] = [];
  private failingSince: number | undefined;
  private warnedAt = -Infinity;

  private constructor(
    readonly dialect: Dialect,
    private readonly db: Kysely<Tables>,
    private readonly where: string,
  ) {}

  /**
   * Connects and migrates. Processes that boot at once take turns.
   *
   * @param url a URL of PostgreSQL; undefined: an empty database in this process
   * @throws EnvironmentError when PostgreSQL does not answer or refuses
   */
  static async open(url: string | undefined): Promise<Database> {
    if (url === undefined) {
      const db = new Kysely<Tables>({ dialect: embeddedDialect() });
      await migrate(db, migrationsFor('sqlite'));
      return new Database('sqlite', db, 'this process');
    }
    const where = placeOf(url);
    await migratePostgres(url, where);
    const dialect = postgresDialect({ url, onIdleError: (error) => database.failed(error) });
    const database: Database = new Database('postgres', new Kysely<Tables>({ dialect }), where);
    return database;
  }

  /** False from a failure until the next success. */
  get available(): boolean {
    return this.failingSince === undefined;
  }

  /**
   * Runs queries.
   *
   * @throws DatabaseUnavailableError when the database does not answer; its own errors for a wrong query
   */
  async run<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    try {
      const result = await work(this.db);
      this.succeeded();
      return result;
    } catch (error) {
      if (!isOutage(error)) throw error;
      this.failed(error as Error);
      throw new DatabaseUnavailableError(reasonOf(error), { cause: error });
    }
  }

  get writers(): readonly Writer[] {
    return this.registered;
  }

  /** What the writer has is written before the database closes. */
  register(writer: Writer): void {
    this.registered.push(writer);
  }

  /** After the last request: Nest closes the server before it calls this. */
  async onApplicationShutdown(): Promise<void> {
    const flushes = Promise.allSettled(this.writers.map((writer) => writer.flush()));
    await within(LAST_WRITES_MS, flushes);
    for (const writer of this.writers) writer.abandon();
    // Waits for connections in use, which may hang.
    await within(LAST_WRITES_MS / 4, this.db.destroy());
  }

  private succeeded(): void {
    if (this.failingSince === undefined) return;
    const seconds = Math.round((performance.now() - this.failingSince) / 1000);
    this.failingSince = undefined;
    this.warnedAt = -Infinity;
    this.logger.log(`The database at ${this.where} answers again, after ${seconds} s`);
  }

  private failed(error: Error): void {
    const now = performance.now();
    this.failingSince ??= now;
    if (now - this.warnedAt < WARNING_EVERY_MS) return;
    this.warnedAt = now;
    this.logger.warn(`The database at ${this.where} is unavailable: ${reasonOf(error)}`);
  }
}

async function migratePostgres(url: string, where: string): Promise<void> {
  const db = new Kysely<Tables>({ dialect: postgresDialect({ url, migrates: true, onIdleError: () => undefined }) });
  try {
    await migrate(db, migrationsFor('postgres'));
  } catch (error) {
    // No cause: the driver's error may hold its configuration.
    const refused = new EnvironmentError(
      `DATABASE_URL names PostgreSQL at ${where}, which cannot be used: ${reasonOf(error)}`,
    );
    // Nest logs the stack. It does not help the operator, who corrects the variable or the server.
    refused.stack = refused.message;
    throw refused;
  } finally {
    await db.destroy();
  }
}

/** Kysely's migrator holds an advisory lock of PostgreSQL meanwhile. */
async function migrate(db: Kysely<Tables>, migrations: Record<string, Migration>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

/** Host, port and database of a URL, without user and password. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/**
 * Errors of PostgreSQL are outages where the next try can succeed: classes of https://www.postgresql.org/docs/current/errcodes-appendix.html.
 * All other errors of the driver are failed connections or missing answers.
 */
const OUTAGES = /^(08|25006|28|3D|40|42P01|53|55|57|58|XX)/;

function isOutage(error: unknown): boolean {
  if (error instanceof DatabaseError) return OUTAGES.test(error.code ?? '');
  // sql.js throws errors without a code: a wrong query.
  const { code, message } = error as { code?: unknown; message?: string };
  return code !== undefined || /timeout|terminated|ended|not queryable/i.test(message ?? '');
}

/** The driver's message or code. Node's error for a host with two addresses has no message of its own. */
function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || 'it does not answer';
}

function within(ms: number, work: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout;
  const limit = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  return Promise.race([work.catch(() => undefined), limit]).finally(() => clearTimeout(timer));
}
