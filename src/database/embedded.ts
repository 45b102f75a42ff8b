import { SqliteDialect, type SqliteDatabase, type SqliteStatement } from 'kysely';
import initSqlite, { type Database, type SqlJsStatic, type SqlValue } from 'sql.js';

let sqlite: Promise<SqlJsStatic> | undefined;

/** An empty SQLite database in the memory of this process, compiled to WebAssembly. Several of a process share the code. */
export function embeddedDialect(): SqliteDialect {
  return new SqliteDialect({
    database: async () => {
      sqlite ??= initSqlite();
      const { Database } = await sqlite;
      return new EmbeddedDatabase(new Database());
    },
  });
}

/** What Kysely calls of better-sqlite3, on sql.js. */
class EmbeddedDatabase implements SqliteDatabase {
  constructor(private readonly database: Database) {}

  close(): void {
    this.database.close();
  }

  prepare(sql: string): SqliteStatement {
    const { database } = this;
    const rowsOf = (parameters: readonly unknown[]): unknown[] => {
      const statement = database.prepare(sql, parameters as SqlValue[]);
      try {
        const rows: unknown[] = [];
        while (statement.step()) rows.push(statement.getAsObject());
        return rows;
      } finally {
        statement.free();
      }
    };
    return {
      reader: /^\s*(select|with|pragma)\b|\breturning\b/i.test(sql),
      all: rowsOf,
      run: (parameters) => {
        rowsOf(parameters);
        return { changes: database.getRowsModified(), lastInsertRowid: 0 };
      },
      iterate: (parameters) => rowsOf(parameters).values(),
    };
  }
}
