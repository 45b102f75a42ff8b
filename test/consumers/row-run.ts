import { copyFileSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { add, expectTrustedProxy } from './added.js';
import { type Application, startApplication } from './application.js';
import { burst, expectMetrics } from './burst.js';
import { Log, run } from './command.js';
import { install, type Installed } from './managers.js';
import { writeProject } from './project.js';
import { type RedisForRow, redisFor } from './redis-for-row.js';
import { type Choices, choicesOf, type Result, type Row } from './row.js';
import { NPM, type Workshop } from './workshop.js';

/** Packages whose versions a result names, if they are installed. */
const NAMED = [
  '@nestjs/core',
  'typescript',
  'ioredis',
  'another-ioredis',
  'iovalkey',
  'redis',
  'prom-client',
  '@opentelemetry/sdk-metrics',
  'jest',
  'vitest',
];

/** What Nest loads only if the application has it. A bundler has to leave it out. */
const OPTIONAL_IN_NEST = ['@nestjs/microservices', '@nestjs/websockets', 'class-transformer', 'class-validator'];

/** An ES module that esbuild makes of CommonJS packages needs the `require` that they call. */
const REQUIRE = 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);';

interface Built {
  readonly entry: string;
  /** The folder in which it runs. */
  readonly cwd: string;
}

/** Makes the application of a row, builds it and sends it a burst. It never rejects: the result tells what failed. */
export async function runRow(row: Row, workshop: Workshop): Promise<Result> {
  const choices = choicesOf(row);
  const log = new Log();
  const began = performance.now();
  let step = 'generate';
  let versions: Readonly<Record<string, string>> = {};
  let failure: string | undefined;
  try {
    const folder = await writeProject(choices, workshop);
    step = 'install';
    const app = await install(choices, folder, workshop, log);
    if (choices.added) {
      step = 'nest add';
      await add(choices, app, workshop, log);
    }
    versions = await versionsOf(app, choices.server === undefined ? NAMED : [choices.server, ...NAMED]);
    if (choices.folder !== undefined) {
      step = 'npm test';
      await run([...NPM, 'test'], { cwd: app.folder, nodeFolder: app.nodeFolder, log });
      return { row, seconds: (performance.now() - began) / 1000, versions, failure, log: log.text };
    }
    step = 'type check';
    await app.bin(['tsc', '--noEmit', '-p', 'tsconfig.json']);
    if (choices.major === 'none') {
      step = choices.server ?? 'client';
      await app.bin(['tsc', '-p', 'tsconfig.json']);
      await (choices.server === undefined ? useClient(app, log) : useServer(app, log));
      await expectAlone(app);
      return { row, seconds: (performance.now() - began) / 1000, versions, failure, log: log.text };
    }
    step = 'build';
    const built = await build(choices, app, workshop);
    await using redis = await redisFor(choices.redis);
    if (choices.tests) {
      step = 'test';
      await test(choices, app, redis);
      await redis?.empty();
    }
    step = 'burst';
    await tryOut(choices, app, built, redis, { workshop, log });
  } catch (error) {
    failure = `${step}: ${(error as Error).message}`;
  }
  return { row, seconds: (performance.now() - began) / 1000, versions, failure, log: log.text };
}

/** Runs an application that has installed the client alone. */
async function useClient(app: Installed, log: Log): Promise<void> {
  const { node, folder: cwd, nodeFolder } = app;
  const printed = await run([...node, 'dist/main.js'], { cwd, nodeFolder, log });
  if (printed !== 'the client waited\n') throw new Error(`It printed '${printed}'`);
}

/** Sends a burst to an application that has installed the engine and a server. */
async function useServer(app: Installed, log: Log): Promise<void> {
  const started = await startApplication(app, {
    entry: join(app.folder, 'dist/main.js'),
    cwd: app.folder,
    env: {},
    log,
  });
  try {
    await burst([started.url]);
    await started.stop();
  } finally {
    started.kill();
  }
}

/** Nest, an optional peer and the other packages of this repository must not come along. */
async function expectAlone(app: Installed): Promise<void> {
  for (const name of [...NAMED, 'nestjs-floodgate', 'rxjs']) {
    if (name !== 'typescript' && (await app.version(name)) !== undefined) throw new Error(`${name} was installed, too`);
  }
}

async function versionsOf(
  { node, folder, version }: Installed,
  names: readonly string[],
): Promise<Record<string, string>> {
  const versions: Record<string, string> = {
    node: (await run([node[0]!, '--version'], { cwd: folder })).trim().slice(1),
  };
  for (const name of names) {
    const found = await version(name);
    if (found !== undefined) versions[name] = found;
  }
  return versions;
}

/** @returns what `node` runs; a bundle lies where no package can be found */
async function build(
  { name, major, build: kind, modules }: Choices,
  app: Installed,
  workshop: Workshop,
): Promise<Built> {
  // @nestjs/schematics 12, which the command loads, asks for Node 22.22 or 24.15, whatever runs the application.
  await app.bin(['nest', 'build'], major === '12' ? { nodeFolder: await workshop.nodeFolder('24') } : {});
  const entry = ['dist/main.js', 'dist/src/main.js']
    .map((path) => join(app.folder, path))
    .find((path) => existsSync(path));
  if (entry === undefined) throw new Error('nest build wrote no main.js');
  if (kind !== 'webpack' && kind !== 'esbuild') return { entry, cwd: app.folder };
  const bundle = join(workshop.bundleFolder(name), modules === 'esm' ? 'main.mjs' : 'main.cjs');
  if (kind === 'webpack') {
    copyFileSync(entry, bundle);
  } else {
    const format = modules === 'esm' ? ['--format=esm', `--banner:js=${REQUIRE}`] : ['--format=cjs'];
    const external = OPTIONAL_IN_NEST.map((one) => `--external:${one}`);
    await app.bin(['esbuild', entry, '--bundle', '--platform=node', ...format, ...external, `--outfile=${bundle}`]);
  }
  return { entry: bundle, cwd: dirname(bundle) };
}

/** Runs the test runner that was generated, as its `npm test` does. */
async function test({ major, modules }: Choices, app: Installed, redis: RedisForRow | undefined): Promise<void> {
  if (modules === 'esm') return app.bin(['vitest', 'run'], { env: environmentOf(redis) });
  // Nest 12 consists of ES modules, which Jest loads with this flag only.
  const flags: Record<string, string> = major === '12' ? { NODE_OPTIONS: '--experimental-vm-modules' } : {};
  await app.bin(['jest'], { env: { ...flags, ...environmentOf(redis) } });
}

async function tryOut(
  { metrics, added }: Choices,
  app: Installed,
  { entry, cwd }: Built,
  redis: RedisForRow | undefined,
  { workshop, log }: { workshop: Workshop; log: Log },
): Promise<void> {
  const env = environmentOf(redis);
  const started: Application[] = [];
  try {
    for (let i = 0; i < (redis ? 2 : 1); i++) started.push(await startApplication(app, { entry, cwd, env, log }));
    const [first] = started as [Application];
    const entries = ['client', ...workshop.entries];
    if (!added && first.entries !== entries.join(' '))
      throw new Error(`It used the entries '${first.entries}', expected '${entries.join(' ')}'`);
    await burst(started.map(({ url }) => url));
    if (metrics !== 'none') await expectMetrics(first.url);
    if (added) await expectTrustedProxy(first.url);
    for (const one of started) await one.stop();
  } finally {
    for (const one of started) one.kill();
  }
}

function environmentOf(redis: RedisForRow | undefined): Record<string, string> {
  // What `nest new` generates listens on PORT; the templates do not read it.
  return { PORT: '0', ...(redis && { REDIS_URL: redis.url }) };
}
