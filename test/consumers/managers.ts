import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type CommandOptions, type Log, run } from './command.js';
import type { Choices, Manager } from './row.js';
import { NPM, QUIET, type Workshop } from './workshop.js';

const PNPM = 'pnpm@10';
const YARN_1 = 'yarn@1.22.22';
const YARN = '@yarnpkg/cli-dist@4';

/** An application with its packages installed. */
export interface Installed {
  readonly folder: string;
  /** The folder of its Node. */
  readonly nodeFolder: string;
  /** Its `node`, able to find its packages. */
  readonly node: readonly string[];
  /** Runs a program of one of its packages: by its own Node, unless another one is given. */
  bin(command: readonly string[], options?: Pick<CommandOptions, 'env' | 'nodeFolder'>): Promise<void>;
  /** The installed version of a package, undefined if it is absent. */
  readonly version: (name: string) => Promise<string | undefined>;
}

/** The files that a package manager needs in the project. */
export function filesOf(manager: Manager): Readonly<Record<string, string>> {
  // Without a lock file of its own, Yarn takes the application for a part of a project above it.
  if (manager === 'yarn') return { '.yarnrc.yml': 'nodeLinker: node-modules\n', 'yarn.lock': '' };
  if (manager === 'yarn-pnp') return { '.yarnrc.yml': 'nodeLinker: pnp\n', 'yarn.lock': '' };
  return {};
}

/** The environment of what calls the package manager of an application by its name. */
export async function environmentFor(
  manager: Manager,
  nodeFolder: string,
  workshop: Workshop,
): Promise<Record<string, string>> {
  const path = [nodeFolder, process.env['PATH']].join(delimiter);
  if (manager !== 'pnpm') return { PATH: path };
  const pnpm = join(await workshop.tool(manager, PNPM), '.bin');
  // It refuses packages of another store beside those that are installed.
  return { PATH: [pnpm, path].join(delimiter), npm_config_store_dir: pnpmStore(workshop) };
}

function pnpmStore(workshop: Workshop): string {
  return join(workshop.folder, 'cache', 'pnpm');
}

/** Installs the packages of an application. */
export async function install(row: Choices, folder: string, workshop: Workshop, log: Log): Promise<Installed> {
  const nodeFolder = await workshop.nodeFolder(row.node);
  const node = join(nodeFolder, 'node');
  const cache = join(workshop.folder, 'cache');
  const env = {
    NO_COLOR: '1',
    npm_config_registry: workshop.registry,
    YARN_REGISTRY: workshop.registry,
    YARN_NPM_REGISTRY_SERVER: workshop.registry.replace(/\/$/, ''),
    YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
    YARN_ENABLE_SCRIPTS: 'false',
    YARN_ENABLE_TELEMETRY: '0',
    YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
    YARN_GLOBAL_FOLDER: join(cache, 'yarn'),
  };
  const at = { cwd: folder, nodeFolder, env, log };
  const tool = async (name: Manager, spec: string, path: string): Promise<string> =>
    join(await workshop.tool(name, spec), path);

  const yarn = async (): Promise<string> => tool('yarn', YARN, '@yarnpkg/cli-dist/bin/yarn.js');
  const commands: Readonly<Record<Manager, () => Promise<readonly string[]>>> = {
    npm: async () => [...NPM, 'install', ...QUIET],
    pnpm: async () => {
      const pnpm = await tool('pnpm', PNPM, 'pnpm/bin/pnpm.cjs');
      return [node, pnpm, 'install', '--ignore-scripts', '--store-dir', pnpmStore(workshop)];
    },
    yarn1: async () => {
      const yarn1 = await tool('yarn1', YARN_1, 'yarn/bin/yarn.js');
      return [node, yarn1, 'install', '--ignore-scripts', '--non-interactive', '--cache-folder', join(cache, 'yarn1')];
    },
    yarn: async () => [node, await yarn(), 'install'],
    'yarn-pnp': async () => [node, await yarn(), 'install'],
  };
  await run(await commands[row.manager](), at);

  if (row.manager === 'yarn-pnp') {
    const path = await yarn();
    return {
      folder,
      nodeFolder,
      node: [node, '--require', './.pnp.cjs', '--experimental-loader', './.pnp.loader.mjs'],
      bin: async (command, options) => {
        const other = join(options?.nodeFolder ?? nodeFolder, 'node');
        await run([other, path, 'run', ...command], { ...at, ...options, env: { ...env, ...options?.env } });
      },
      version: async (name) => {
        const info = await run([node, path, 'info', '--json', name], { ...at, log: undefined }).catch(() => '');
        return /"Version":"([^"]+)"/.exec(info)?.[1];
      },
    };
  }
  return {
    folder,
    nodeFolder,
    node: [node],
    bin: async ([name, ...args], options) => {
      const program = join(folder, 'node_modules', '.bin', name!);
      await run([program, ...args], { ...at, ...options, env: { ...env, ...options?.env } });
    },
    version: async (name) => versionIn(join(folder, 'node_modules', name, 'package.json')),
  };
}

function versionIn(file: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
  } catch {
    return undefined;
  }
}
