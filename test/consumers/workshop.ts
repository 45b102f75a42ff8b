import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Log, run } from './command.js';
import { type PackedPackage, type Registry, servePackages } from './registry.js';
import { type Choices, NODES, type NodeLine } from './row.js';

const LIBS = fileURLToPath(new URL('../../libs/', import.meta.url));
/** The folders of the packages that applications install. */
const PACKED = ['floodgate', 'nest', 'client'];

/** What the rows share, each part made when a row first needs it: a registry with the packed packages, tools, and projects as generated. */
export class Workshop {
  private readonly made = new Map<string, Promise<string>>();

  private constructor(
    readonly folder: string,
    /** The names of the subpath entries of the Nest module, such as `testing`. */
    readonly entries: readonly string[],
    /** The versions of the packed packages, by their names. */
    readonly versions: Readonly<Record<string, string>>,
    /** Has the packed packages. */
    private readonly served: Registry,
  ) {}

  get registry(): string {
    return this.served.url;
  }

  /** Makes a folder outside of the repository, so that no application finds the repository's node_modules. */
  static async open(log: Log): Promise<Workshop> {
    const folder = mkdtempSync(join(tmpdir(), 'floodgate-consumers-'));
    const pack = async (cwd: string): Promise<string> => {
      const printed = await run([...NPM, 'pack', '--json', '--pack-destination', folder], { cwd, log });
      const [report] = JSON.parse(lastJson(printed)) as [{ filename: string; files: { path: string }[] }];
      if (!report.files.some(({ path }) => path.startsWith('dist/'))) throw new Error('npm pack packed no dist');
      return named(join(folder, report.filename));
    };
    const packages: PackedPackage[] = [];
    for (const name of PACKED) packages.push({ tarball: await pack(join(LIBS, name)), manifest: manifestOf(name) });
    const upstream = (await run([...NPM, 'config', 'get', 'registry'], { cwd: folder, log })).trim();
    const entries = Object.keys(manifestOf('nest').exports).flatMap((path) => /^\.\/(\w+)$/.exec(path)?.slice(1) ?? []);
    const versions = Object.fromEntries(packages.map(({ manifest: { name, version } }) => [name, version]));
    return new Workshop(folder, entries, versions, await servePackages(packages, upstream));
  }

  close(): void {
    this.served.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The folder of an application. */
  appFolder(name: string): string {
    return join(this.folder, 'apps', name);
  }

  /** Removes an application. */
  async remove(name: string): Promise<void> {
    await rm(this.appFolder(name), { recursive: true, force: true });
  }

  /** A folder for a bundle, from which no node_modules is found. */
  bundleFolder(name: string): string {
    const folder = join(this.folder, 'bundles', name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** The folder of a line's `node`. npm has it as a package for each platform. */
  async nodeFolder(line: NodeLine | undefined): Promise<string> {
    if (line === undefined) return dirname(process.execPath);
    const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
    return join(await this.tool(`node-${line}`, `${name}@${NODES[line]}`), name, 'bin');
  }

  /** Installs a package as a tool, and returns its node_modules. */
  tool(name: string, ...specs: string[]): Promise<string> {
    return this.once(name, async () => {
      const cwd = join(this.folder, 'tools', name);
      mkdirSync(cwd, { recursive: true });
      writeFileSync(join(cwd, 'package.json'), '{"private":true}');
      await run([...NPM, 'install', ...QUIET, ...specs], { cwd });
      return join(cwd, 'node_modules');
    });
  }

  /** The project that `nest new` generates. The schematic is what `nest new` calls, which asks for the modules in a terminal only. */
  scaffold({ major, modules }: Pick<Choices, 'major' | 'modules'>): Promise<string> {
    return this.once(`generated-${major}-${modules}`, async () => {
      const bin = join(await this.tool(`nest-cli-${major}`, `@nestjs/cli@${major}`), '.bin', 'schematics');
      const cwd = join(this.folder, 'generated', major);
      mkdirSync(cwd, { recursive: true });
      const type = major === '11' ? [] : [`--type=${modules === 'esm' ? 'esm' : 'cjs'}`];
      const args = [`--name=${modules}`, '--package-manager=npm', ...type, '--no-dry-run'];
      await run([bin, '@nestjs/schematics:application', ...args], { cwd });
      return join(cwd, modules);
    });
  }

  private once(name: string, make: () => Promise<string>): Promise<string> {
    const known = this.made.get(name);
    if (known) return known;
    const made = make();
    this.made.set(name, made);
    return made;
  }
}

/** The npm that runs this, if one does: another one on PATH may need another Node. */
export const NPM: readonly string[] = process.env['npm_execpath']?.endsWith('npm-cli.js')
  ? ['node', process.env['npm_execpath']]
  : ['npm'];

/** Scripts of packages are not needed. */
export const QUIET: readonly string[] = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];

/** Yarn 1 caches tarballs by their names, in the user's home: each content gets a name of its own. */
function named(tarball: string): string {
  const hash = createHash('sha256').update(readFileSync(tarball)).digest('hex').slice(0, 12);
  const path = tarball.replace(/\.tgz$/, `-${hash}.tgz`);
  renameSync(tarball, path);
  return path;
}

function manifestOf(name: string): PackedPackage['manifest'] & { readonly exports: object } {
  return JSON.parse(readFileSync(join(LIBS, name, 'package.json'), 'utf8')) as never;
}

/** The scripts that `npm pack` runs print before its report. */
function lastJson(output: string): string {
  const begin = output.search(/^\[\s*$/m);
  return begin === -1 ? output : output.slice(begin);
}
