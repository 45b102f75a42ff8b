import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

/** The unpacked package, and its tarball. test/support/setup/package.js makes them. */
export const PACKAGE = process.env.PACKAGE_FOLDER!;
export const TARBALL = process.env.PACKAGE_TARBALL!;

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
}

export const MANIFEST = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Manifest;

/** The entry points, as their files in dist are called. */
export const ENTRIES = Object.keys(MANIFEST.exports)
  .filter((path) => path !== './package.json')
  .map((path) => (path === '.' ? 'index' : path.slice(2)));

/** How an application names an entry point. */
export const nameOf = (entry: string): string => (entry === 'index' ? 'nestjs-floodgate' : `nestjs-floodgate/${entry}`);

/** An application in a folder of its own, into which the package is installed, and packages of this repository are linked. */
export class Application {
  readonly folder = mkdtempSync(join(tmpdir(), 'application-'));

  /** @param packages those that the application has installed beside the library and its dependencies */
  constructor(packages: readonly string[]) {
    for (const name of [...Object.keys(MANIFEST.dependencies), ...packages]) {
      const path = join(this.folder, 'node_modules', name);
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(join(MODULES, name), path);
    }
    this.install('node_modules/nestjs-floodgate');
  }

  /** Installs another copy of the package. */
  install(path: string, version = MANIFEST.version): void {
    cpSync(PACKAGE, join(this.folder, path), { recursive: true });
    const manifest = JSON.stringify({ ...MANIFEST, version });
    writeFileSync(join(this.folder, path, 'package.json'), manifest);
  }

  write(file: string, text: string): string {
    const path = join(this.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Runs a file with Node, and returns all that it prints. */
  async run(file: string, ...options: string[]): Promise<string> {
    return new Promise((resolve) => {
      const env = { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '' };
      execFile(process.execPath, [...options, file], { cwd: this.folder, env }, (_, out, err) => resolve(out + err));
    });
  }

  delete(): void {
    rmSync(this.folder, { recursive: true });
  }
}
