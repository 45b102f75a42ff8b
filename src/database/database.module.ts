import { APP_FILTER } from '@nestjs/core';
import { Global, Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { DatabaseUnavailableFilter } from './database-unavailable.js';
import { Database } from './database.js';

/** The database, open and migrated before the application listens. */
@Global()
@Module({
  providers: [
    {
      provide: Database,
      inject: [ConfigService],
      useFactory: (config: ConfigService<Configuration, true>) =>
        Database.open(config.get('databaseUrl', { infer: true })),
    },
    { provide: APP_FILTER, useClass: DatabaseUnavailableFilter },
  ],
  exports: [Database],
})
export class DatabaseModule {}
