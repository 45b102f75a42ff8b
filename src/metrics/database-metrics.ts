import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { Database } from '../database/database.js';

/** Whether the database answers, and what this process has not written to it. A scrape does not ask the database. */
@Injectable()
export class DatabaseMetrics {
  constructor(registry: Registry, database: Database) {
    const registers = [registry];
    const available: Gauge = new Gauge({
      name: 'ride_hailing_database_available',
      help: 'Whether the last query got an answer: 1 or 0',
      registers,
      collect: (): void => available.set(database.available ? 1 : 0),
    });
    const pending = new Gauge({
      name: 'ride_hailing_database_pending',
      help: 'Rows of this process that wait to be written, by kind',
      labelNames: ['kind'],
      registers,
      collect: () => {
        for (const writer of database.writers) pending.set({ kind: writer.name }, writer.pending);
      },
    });
    const dropped = new Counter({
      name: 'ride_hailing_database_dropped_total',
      help: 'Rows of this process that were never written, by kind',
      labelNames: ['kind'],
      registers,
      collect: () => {
        dropped.reset();
        for (const writer of database.writers) dropped.inc({ kind: writer.name }, writer.dropped);
      },
    });
  }
}
