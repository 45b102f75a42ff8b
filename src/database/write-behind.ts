import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { Transaction } from 'kysely';
import type { Database, Writer } from './database.js';
import { DatabaseUnavailableError } from './database-unavailable.js';
import type { Tables } from './tables.js';

/** Where the rows wait. It bounds their number itself. */
export interface Backlog<Row> {
  /** What the rows are, in metrics and in the log, such as `trips`. */
  readonly name: string;
  /** Rows that wait. */
  size(): number;
  /** Removes and returns the first rows, at most `max`. */
  take(max: number): readonly Row[];
  /** Writes rows, in the transaction. A retry has the same `batch`, whose first try may have been written. */
  write(db: Transaction<Tables>, rows: readonly Row[], batch: string): Promise<void>;
}

/** A batch is written this long after its first row came: a ride does not wait for the database. */
const DELAY_MS = 150;
const RETRY_MS = 1000;
/** Rows of a statement: with 13 columns far below the 32,766 parameters that SQLite allows. */
const MAX_ROWS = 500;

/** Writes rows in batches, one after the other, until the database has them. */
export class WriteBehind<Row> implements Writer {
  private readonly logger = new Logger('Database');
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  /** The batch that the database does not have for sure. */
  private unsure: { readonly id: string; readonly rows: readonly Row[] } | undefined;
  private lost = 0;
  private closed = false;

  constructor(
    private readonly database: Database,
    private readonly backlog: Backlog<Row>,
  ) {
    database.register(this);
  }

  get name(): string {
    return this.backlog.name;
  }

  /** Rows that the database does not have yet. */
  get pending(): number {
    return this.backlog.size() + (this.unsure?.rows.length ?? 0);
  }

  /** Rows that will never be written, since the start. */
  get dropped(): number {
    return this.lost;
  }

  /** The backlog has a row: it is written soon. */
  added(): void {
    if (this.closed) this.drop(1, 'the database is closed');
    else this.schedule(DELAY_MS);
  }

  /** Counts rows that are given up. */
  drop(count: number, reason: string): void {
    // A line for the first, and one for each power of two.
    const before = Math.floor(Math.log2(this.lost));
    this.lost += count;
    if (Math.floor(Math.log2(this.lost)) > before) {
      this.logger.error(`${this.lost} of the ${this.name} of this process are lost so far: ${reason}`);
    }
  }

  /** Writes what waits now. @throws DatabaseUnavailableError */
  async flush(): Promise<void> {
    // A batch under way does not have the rows that came after it began.
    await this.writing;
    await this.writeAll();
  }

  abandon(): void {
    this.closed = true;
    clearTimeout(this.timer);
    if (this.pending > 0) this.drop(this.pending, 'they could not be written before the process ended');
  }

  private schedule(ms: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      // The database logs outages.
      this.writeAll().catch(() => this.schedule(RETRY_MS));
    }, ms).unref();
  }

  private writeAll(): Promise<void> {
    this.writing ??= this.writeBatches().finally(() => (this.writing = undefined));
    return this.writing;
  }

  private async writeBatches(): Promise<void> {
    while (this.pending > 0) {
      this.unsure ??= { id: randomUUID(), rows: this.backlog.take(MAX_ROWS) };
      const { id, rows } = this.unsure;
      try {
        await this.database.run((db) => db.transaction().execute((trx) => this.backlog.write(trx, rows, id)));
      } catch (error) {
        // `abandon` has counted the rows of a batch that was under way.
        if (error instanceof DatabaseUnavailableError || this.closed) throw error;
        // Every retry would fail like this one.
        this.drop(rows.length, (error as Error).message);
      }
      this.unsure = undefined;
    }
  }
}
