import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
}

/** A package that test/support/setup/package.js has packed and unpacked. */
export class Packed {
  readonly tarball: string;
  readonly folder: string;
  readonly manifest: Manifest;
  /** The entry points, as their files in dist are called. */
  readonly entries: readonly string[];
  readonly files: readonly string[];

  constructor(readonly name: string) {
    this.tarball = join(process.env.PACKAGES_FOLDER!, name, 'packed.tgz');
    this.folder = join(process.env.PACKAGES_FOLDER!, name, 'package');
    this.manifest = JSON.parse(this.textOf('package.json')) as Manifest;
    this.entries = Object.keys(this.manifest.exports)
      .filter((path) => path !== './package.json')
      .map((path) => (path === '.' ? 'index' : path.slice(2)));
    this.files = readdirSync(this.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.folder.length + 1));
  }

  textOf(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8');
  }

  /** How an application names an entry point. */
  nameOf(entry: string): string {
    return entry === 'index' ? this.name : `${this.name}/${entry}`;
  }
}

export const ENGINE = new Packed('floodgate');
export const LIBRARY = new Packed('nestjs-floodgate');
export const CLIENT = new Packed('floodgate-client');
export const MIGRATE = new Packed('nestjs-floodgate-migrate');

/** An application in a folder of its own, into which a package is installed, and packages of this repository are linked. */
export class Application {
  readonly folder = mkdtempSync(join(tmpdir(), 'application-'));

  /** @param packages those that the application has installed beside the package and its dependencies */
  constructor(
    packages: readonly string[],
    private readonly own = LIBRARY,
  ) {
    const needed = Object.keys(own.manifest.dependencies ?? {});
    if (needed.includes(ENGINE.name)) {
      this.install(`node_modules/${ENGINE.name}`, ENGINE);
      needed.push(...Object.keys(ENGINE.manifest.dependencies ?? {}));
    }
    for (const name of [...needed, ...packages].filter((one) => one !== ENGINE.name)) {
      const path = join(this.folder, 'node_modules', name);
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(join(MODULES, name), path);
    }
    this.install(`node_modules/${own.name}`);
  }

  /** Installs another copy of a package. */
  install(path: string, packed = this.own, version = packed.manifest.version): void {
    cpSync(packed.folder, join(this.folder, path), { recursive: true });
    const manifest = JSON.stringify({ ...packed.manifest, version });
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
