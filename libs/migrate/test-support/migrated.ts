import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { FilesError } from '../src/files.js';
import { run } from '../src/run.js';

/** Files as they are after a run of the codemod, and what it printed. */
export interface Migrated {
  readonly files: Record<string, string>;
  readonly bytes: Record<string, Buffer>;
  readonly printed: string;
  /** Why no file was written. */
  readonly failed: string | undefined;
}

/** Migrates the files of a folder of their own. */
export function migrated(files: Readonly<Record<string, string | Buffer>>): Migrated {
  const folder = mkdtempSync(join(tmpdir(), 'migrate-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const lines: string[] = [];
    let failed: string | undefined;
    try {
      run({ folder, dryRun: false, version: '^1.0.0', print: (line) => lines.push(line) });
    } catch (error) {
      if (!(error instanceof FilesError)) throw error;
      failed = error.message.replaceAll(folder, '');
    }
    const after = Object.keys(files).map((name) => [name, readFileSync(join(folder, name))] as const);
    const texts = after.map(([name, content]) => [name, content.toString()] as const);
    return { files: Object.fromEntries(texts), bytes: Object.fromEntries(after), printed: lines.join('\n'), failed };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A module with a guard for all routes. */
export const moduleOf = (
  options: string,
  guard = 'ThrottlerGuard',
  more = '',
): string => `import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule, seconds } from '@nestjs/throttler';
${more}
@Module({
  imports: [ThrottlerModule.forRoot(${options})],
  providers: [{ provide: APP_GUARD, useClass: ${guard} }],
})
export class AppModule {}
`;

export const TEN = '[{ limit: 10, ttl: seconds(60) }]';
