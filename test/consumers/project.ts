import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepare } from './added.js';
import { filesOf } from './managers.js';
import type { Choices, Resolution, ServerUse } from './row.js';
import type { Workshop } from './workshop.js';

const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url));
const TEMPLATES = fileURLToPath(new URL('templates/', import.meta.url));

/** The fields of generated JSON files that a row changes. */
interface Generated {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  readonly compilerOptions: Record<string, unknown>;
}

/** What checks style takes long to install, and touches no line of a build, a test or a process. */
const STYLE =
  /^(?:@?eslint|typescript-eslint|prettier|oxlint|globals$|@nestjs\/mau|@vitest\/coverage|source-map-support)/;
const TESTS = /jest|vitest|vite-|supertest|ts-node|tsconfig-paths|@nestjs\/testing/;

/** Writes the application of a row: the project as generated, a limited route, and what the row chooses. */
export async function writeProject(row: Choices, workshop: Workshop): Promise<string> {
  const folder = workshop.appFolder(row.name);
  if (row.folder !== undefined) return copyFolder(row.folder, workshop, folder);
  if (row.major === 'none') return writeBareProject(row, workshop, folder);
  cpSync(await workshop.scaffold(row), folder, { recursive: true });
  const unused = row.tests ? [] : ['vitest.config.ts', 'vitest.config.e2e.ts', 'jest.config.ts'];
  const replaced = row.added ? [] : ['src', 'test'];
  for (const name of [...replaced, ...unused]) rmSync(join(folder, name), { recursive: true, force: true });

  edit(folder, 'package.json', (manifest) => editManifest(manifest, row, workshop));
  edit(folder, 'tsconfig.json', ({ compilerOptions }) => editTypes(compilerOptions, row));
  edit(folder, 'nest-cli.json', ({ compilerOptions }) => editBuild(compilerOptions, row));
  if (row.build === 'webpack') cpSync(join(TEMPLATES, 'webpack.config.js'), join(folder, 'webpack.config.js'));
  for (const [name, text] of Object.entries(filesOf(row.manager))) writeFileSync(join(folder, name), text);

  if (row.added) {
    prepare(row, folder);
    return folder;
  }
  mkdirSync(join(folder, 'src'));
  const source = (to: string, from: string): void => {
    writeFileSync(join(folder, 'src', to), spelled(readFileSync(join(TEMPLATES, from), 'utf8'), row));
  };
  source('app.module.ts', 'app.module.ts');
  source('main.ts', 'main.ts');
  source('platform.ts', `platform.${row.platform}.ts`);
  source('entries.ts', 'entries.ts');
  for (const entry of templatesIn('entries')) source(`${entry}.ts`, `entries/${entry}.ts`);
  source('redis.ts', `redis/${row.redis}.ts`);
  source('metrics.ts', `metrics/${row.metrics}.ts`);
  if (row.tests) source('app.spec.ts', 'app.test.ts');
  return folder;
}

/** Writes an application without Nest: it installs the client and nothing else, or the engine and a server. */
function writeBareProject(row: Choices, { versions }: Workshop, folder: string): string {
  const { server } = row;
  const library = server === undefined ? 'floodgate-client' : 'floodgate';
  const { dependencies = {}, types = {} } = server === undefined ? {} : SERVER_PACKAGES[server];
  mkdirSync(join(folder, 'src'), { recursive: true });
  const write = (name: string, content: object): void =>
    writeFileSync(join(folder, name), JSON.stringify(content, undefined, 2));
  write('package.json', {
    private: true,
    type: row.modules === 'esm' ? 'module' : 'commonjs',
    dependencies: { [library]: versions[library], ...dependencies },
    devDependencies: { '@types/node': '^20', typescript: '~5.9.3', ...types },
  });
  const options: Record<string, unknown> = { module: 'nodenext', target: 'es2023', outDir: 'dist', strict: true };
  // Express is CommonJS, and its types say so.
  if (server !== undefined) options['esModuleInterop'] = true;
  editTypes(options, row);
  write('tsconfig.json', { compilerOptions: options, include: ['src'] });
  const template = server === undefined ? 'client/main.ts' : `server/${server}.ts`;
  cpSync(join(TEMPLATES, template), join(folder, 'src/main.ts'));
  for (const [name, text] of Object.entries(filesOf(row.manager))) writeFileSync(join(folder, name), text);
  return folder;
}

/** Copies an application of the repository, which then depends on the packed packages. */
function copyFolder(path: string, { versions }: Workshop, folder: string): string {
  const unwanted = new Set(['node_modules', 'dist']);
  cpSync(join(REPOSITORY, path), folder, { recursive: true, filter: (one) => !unwanted.has(basename(one)) });
  edit(folder, 'package.json', ({ dependencies }) => {
    for (const name of Object.keys(dependencies)) dependencies[name] = versions[name] ?? dependencies[name]!;
  });
  return folder;
}

/** The folders of the examples. */
export function examples(): string[] {
  return readdirSync(join(REPOSITORY, 'examples'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `examples/${name}`);
}

/** The names of the templates in a folder, without `.ts`. */
export function templatesIn(folder: string): string[] {
  return readdirSync(join(TEMPLATES, folder)).map((name) => name.replace(/\.ts$/, ''));
}

function edit(folder: string, name: string, change: (content: Generated) => void): void {
  const file = join(folder, name);
  const content = JSON.parse(readFileSync(file, 'utf8')) as Generated;
  change(content);
  writeFileSync(file, JSON.stringify(content, undefined, 2));
}

function editManifest(manifest: Generated, row: Choices, { versions }: Workshop): void {
  const { nest, platform, build, redis, ioredis, nodeRedis, metrics, tests, typeorm } = row;
  const version = nest.includes('.') ? nest : `^${nest}`;
  manifest.dependencies = {
    'reflect-metadata': manifest.dependencies['reflect-metadata']!,
    rxjs: manifest.dependencies['rxjs']!,
    '@nestjs/common': version,
    '@nestjs/core': version,
    [`@nestjs/platform-${platform}`]: version,
    'nestjs-floodgate': versions['nestjs-floodgate']!,
    'floodgate-client': versions['floodgate-client']!,
    ...(ioredis && { ioredis: pinned(ioredis) }),
    ...(nodeRedis && { redis: pinned(nodeRedis) }),
    ...(redis === 'second-copy' && { 'another-ioredis': 'npm:ioredis@^5' }),
    ...(redis === 'iovalkey' && { iovalkey: '*' }),
    ...(typeorm && { '@nestjs/typeorm': '^11.0.0', typeorm: '^0.3.0' }),
    ...METRICS_PACKAGES[metrics],
  };
  if (row.added)
    for (const name of ['nestjs-floodgate', 'floodgate-client', 'ioredis', 'redis']) delete manifest.dependencies[name];
  const generated = Object.entries(manifest.devDependencies).filter(
    ([name]) => !STYLE.test(name) && (tests || !TESTS.test(name)),
  );
  manifest.devDependencies = {
    ...Object.fromEntries(generated),
    ...(tests && { '@nestjs/testing': version, [`@nestjs/platform-express`]: version }),
    ...BUILD_PACKAGES[build],
  };
}

interface ServerPackages {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly types?: Readonly<Record<string, string>>;
}

/** The example of Express and Hono installs Express 5. */
const SERVER_PACKAGES: Readonly<Record<ServerUse, ServerPackages>> = {
  express: { dependencies: { express: '^4.0.0' }, types: { '@types/express': '^4.0.0' } },
  fastify: { dependencies: { fastify: '^5.0.0' } },
  hono: { dependencies: { hono: '^4.0.0', '@hono/node-server': '^2.0.0' } },
};

const METRICS_PACKAGES: Readonly<Record<Choices['metrics'], Readonly<Record<string, string>>>> = {
  none: {},
  'prom-client': { 'prom-client': '*' },
  opentelemetry: {
    '@opentelemetry/api': '*',
    '@opentelemetry/exporter-prometheus': '*',
    '@opentelemetry/sdk-metrics': '*',
  },
};

const BUILD_PACKAGES: Readonly<Record<Choices['build'], Readonly<Record<string, string>>>> = {
  tsc: {},
  swc: { '@swc/cli': '^0.8.0', '@swc/core': '^1.15.18' },
  webpack: { 'ts-loader': '^9.5.4' },
  rspack: { '@rspack/core': '^2.1.10', 'webpack-node-externals': '^3.0.0', 'tsconfig-paths-webpack-plugin': '^4.2.0' },
  esbuild: { esbuild: '*' },
};

function pinned(version: string): string {
  return version.includes('.') ? version : `^${version}`;
}

/** The settings of each resolution. `nodenext` is what is generated. */
const RESOLUTIONS: Readonly<Record<Resolution, Readonly<Record<string, unknown>>>> = {
  node10: { module: 'commonjs', moduleResolution: 'node10', resolvePackageJsonExports: undefined },
  node16: { module: 'node16', moduleResolution: 'node16' },
  nodenext: {},
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
};

function editTypes(options: Record<string, unknown>, { resolution, libCheck, tests, modules, major }: Choices): void {
  Object.assign(options, RESOLUTIONS[resolution], libCheck && { skipLibCheck: false });
  // Nest 12 generates the types of its test runner.
  if (!tests && (modules === 'esm' || major === '12')) options['types'] = ['node'];
}

function editBuild(options: Record<string, unknown>, { build }: Choices): void {
  if (build === 'swc' || build === 'rspack') options['builder'] = build;
  if (build === 'webpack') options['builder'] = { type: build, options: { configPath: 'webpack.config.js' } };
}

/** The templates name files as ES modules do. CommonJS projects, as generated, name them without an ending. */
function spelled(source: string, { modules }: Choices): string {
  return modules === 'esm' ? source : source.replaceAll(/(from '\.\/\w+(?:\.\w+)?)\.js'/g, "$1'");
}
