import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type CompilerOptions, ts } from 'ts-morph';
import { type Rewritten, rewritten, textOf, writeAll } from './files.js';
import { type Migration, migrateSources } from './migrate.js';
import { migratePackageFile } from './package-file.js';

/** Folders that hold no sources of the application. */
const LEFT_OUT = new Set(['node_modules', 'dist', 'build', 'coverage']);
const SOURCE = /(?<!\.d)\.[cm]?[jt]s$/;
/** The site that messages lead to: `homepage` of package.json, as a test compares. */
const SITE = 'https://floodgate-nest.github.io/floodgate/';
const PACKAGES = /@nestjs\/throttler|nestjs-floodgate\/throttler/;

export interface Run {
  /** The folder of the application, with its package.json. */
  readonly folder: string;
  /** Whether nothing is written. */
  readonly dryRun: boolean;
  /** What `nestjs-floodgate` is required in. */
  readonly version: string;
  readonly print: (line: string) => void;
}

/**
 * Migrates the application in a folder.
 *
 * @throws {FilesError} when a file cannot be rewritten: then none is
 */
export function run({ folder, dryRun, version, print }: Run): Migration {
  const migration = migrateSources(sourcesBelow(folder), pathsOf(folder));
  const changed = migration.changed.map(({ path, after }) => rewritten(path, readFileSync(path), after));
  if (changed.length > 0) changed.push(...packageFile(folder, version, migration.stillNeeded));
  if (!dryRun) writeAll(changed);
  for (const { path } of changed) print(`${dryRun ? 'would rewrite' : 'rewrote'} ${relative(folder, path)}`);
  if (!migration.found) print('No file uses @nestjs/throttler: nothing to do.');
  if (migration.notes.length > 0) print('\nA person has to decide:');
  for (const { file, line, message } of migration.notes) print(`  ${relative(folder, file)}:${line}  ${message}`);
  if (changed.length > 0) {
    print(
      "\nA rejection differs now: a block follows it only where a policy has blockFor, several policies charge all or nothing, and the body is Floodgate's.",
    );
    print(`The headers keep throttler's names. ${SITE}migration lists what else differs.`);
    print('Install the dependencies, format the files, and run your tests.');
  }
  return migration;
}

/** The options of a tsconfig.json by which an import finds another file of the application. */
function pathsOf(folder: string): CompilerOptions {
  const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config?: object;
  };
  if (config === undefined) return {};
  const host = { ...ts.sys, readDirectory: () => [] };
  const { baseUrl, paths } = ts.parseJsonConfigFileContent(config, host, folder).options;
  return paths === undefined && baseUrl === undefined ? {} : { baseUrl: baseUrl ?? folder, ...(paths && { paths }) };
}

/**
 * Passes names of the packages on, extends a guard, or leaves the options to a class. What another file has to do with that, its
 * text does not tell.
 */
const REACHES_OTHERS =
  /\bexport\b[^;]*?\bfrom\s*['"](?:@nestjs\/throttler|nestjs-floodgate\/throttler)|\bexport\s*\{|\bextends\s+\w*Guard\b|\buse(?:Class|Existing)\b/;

/** The source files that may use throttlers, and those that may bind a guard which does. */
function sourcesBelow(folder: string): string[] {
  const files: string[] = [];
  const look = (below: string): void => {
    for (const entry of readdirSync(below, { withFileTypes: true })) {
      const path = join(below, entry.name);
      if (entry.isDirectory() && !LEFT_OUT.has(entry.name) && !entry.name.startsWith('.')) look(path);
      else if (entry.isFile() && SOURCE.test(entry.name)) files.push(path);
    }
  };
  look(folder);
  const relevant = /APP_GUARD/;
  const texts = files.map(textOf);
  if (texts.some((text) => PACKAGES.test(text) && REACHES_OTHERS.test(text))) return files;
  return files.filter((_, i) => PACKAGES.test(texts[i]!) || relevant.test(texts[i]!));
}

function packageFile(folder: string, version: string, stillNeeded: boolean): Rewritten[] {
  const path = join(folder, 'package.json');
  let before: Buffer;
  try {
    before = readFileSync(path);
  } catch {
    return [];
  }
  const text = before.toString();
  const after = migratePackageFile(text, version, stillNeeded);
  return after === text ? [] : [rewritten(path, before, after)];
}
