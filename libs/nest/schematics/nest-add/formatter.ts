import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { PackageFile } from './package-file.js';
import { installedIn } from './workspace.js';

/** A file's text as the project formats it; undefined when its formatter cannot. */
export type Formatter = (path: string, text: string) => string | undefined;

/** The formatters of projects, and how each reads a text from its standard input. */
const FORMATTERS: Readonly<Record<string, (path: string) => readonly string[]>> = {
  prettier: (path) => ['--stdin-filepath', path],
  '@biomejs/biome': (path) => ['format', `--stdin-file-path=${path}`],
};

const PATIENCE_MS = 30_000;

/** The formatter that a project names in its package.json and has installed. */
export function formatterOf(manifest: PackageFile, folder: string): Formatter | undefined {
  for (const [name, flags] of Object.entries(FORMATTERS)) {
    const found = manifest.has(name) ? installedIn(folder, name) : undefined;
    const bin = found?.manifest.bin;
    const program = typeof bin === 'string' ? bin : Object.values(bin ?? {})[0];
    if (found === undefined || program === undefined) continue;
    return (path, text) => {
      const options = { cwd: folder, input: text, encoding: 'utf8', timeout: PATIENCE_MS } as const;
      const { status, stdout } = spawnSync(process.execPath, [join(found.folder, program), ...flags(path)], options);
      return status === 0 && stdout !== '' ? stdout : undefined;
    };
  }
  return undefined;
}
