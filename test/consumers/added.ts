import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Log, run } from './command.js';
import { environmentFor, type Installed } from './managers.js';
import type { Choices } from './row.js';
import type { Workshop } from './workshop.js';

const TEMPLATES = fileURLToPath(new URL('templates/added/', import.meta.url));
/** The folder of the sources when `nest add` runs. */
const sourcesOf = ({ nx }: Choices): string => (nx ? 'apps/api/src' : 'src');

/** Makes the generated sources ready for `nest add`: it finds a project that knows nothing of the library. */
export function prepare(row: Choices, folder: string): void {
  for (const name of ['src/app.controller.spec.ts', 'test'])
    rmSync(join(folder, name), { recursive: true, force: true });
  const main = join(folder, 'src/main.ts');
  const given = row.platform === 'fastify' ? join(TEMPLATES, 'main.fastify.ts') : main;
  const spelled = readFileSync(given, 'utf8').replace('.module.js', row.modules === 'esm' ? '.module.js' : '.module');
  const listening = 'console.log(`listening ${await app.getUrl()}`);';
  writeFileSync(main, spelled.replace(/^( *)(await app\.listen\(.*\);)$/m, `$1$2\n$1${listening}`));
  if (row.metrics !== 'none') {
    cpSync(join(TEMPLATES, `metrics.${row.metrics}.ts`), join(folder, 'src/metrics.ts'));
    const module = join(folder, 'src/app.module.ts');
    const text = readFileSync(module, 'utf8').replace('[AppController]', '[AppController, MetricsController]');
    const end = row.modules === 'esm' ? '.js' : '';
    writeFileSync(module, `import { MetricsController } from './metrics${end}';\n${text}`);
  }
  // The sign of a proxy.
  writeFileSync(join(folder, 'Procfile'), 'web: node dist/main\n');
  if (row.nx) layOutAsNx(row, folder);
}

/** Moves the application to where Nx has it. Nx has no nest-cli.json. */
function layOutAsNx(row: Choices, folder: string): void {
  const sources = sourcesOf(row);
  const app = join(folder, dirname(sources));
  mkdirSync(app, { recursive: true });
  renameSync(join(folder, 'src'), join(folder, sources));
  rmSync(join(folder, 'nest-cli.json'));
  writeFileSync(join(folder, 'nx.json'), '{}');
  writeFileSync(join(app, 'project.json'), JSON.stringify({ name: 'api', sourceRoot: sources }));
}

/**
 * Runs `nest add`, twice, and puts the decorator on a route.
 *
 * @throws {Error} when the second run changes something, or the client is not the one that the row names
 */
export async function add(row: Choices, app: Installed, workshop: Workshop, log: Log): Promise<void> {
  // @nestjs/schematics 12 asks for Node 22.22 or 24.15, whatever runs the application.
  const nodeFolder = row.major === '12' ? await workshop.nodeFolder('24') : app.nodeFolder;
  const manager = await environmentFor(row.manager, nodeFolder, workshop);
  const env = { ...manager, npm_config_registry: workshop.registry };
  const client = row.redis === 'none' ? 'none' : row.nodeRedis === undefined ? 'ioredis' : 'redis';
  const answers = [`--client=${client}`, '--identity=user', ...(row.nx ? ['--project=api'] : [])];
  const nest = (...flags: string[]): Promise<void> =>
    app.bin(['nest', 'add', 'nestjs-floodgate', ...answers, ...flags], { env, nodeFolder });
  const sources = sourcesOf(row);
  const files = ['package.json', `${sources}/app.module.ts`, `${sources}/main.ts`];
  const texts = (): string[] => files.map((name) => readFileSync(join(app.folder, name), 'utf8'));

  const before = texts();
  if (row.major === '11' && row.manager === 'pnpm') {
    // @nestjs/cli 11 goes on at pnpm's first output, before the package is there: nestjs/nest-cli#1660.
    const pnpm = (...args: string[]): Promise<string> =>
      run(['pnpm', ...args, '--ignore-scripts'], { cwd: app.folder, nodeFolder, env, log });
    await pnpm('add', 'nestjs-floodgate');
    await nest('--skip-install');
    await pnpm('install', '--no-frozen-lockfile');
  } else await nest();
  const once = texts();
  const same = files.filter((_, i) => once[i] === before[i]);
  if (same.length > 0) throw new Error(`nest add did not change ${same.join(', ')}`);
  await nest('--skip-install');
  const again = texts();
  const changed = files.filter((_, i) => again[i] !== once[i]);
  if (changed.length > 0) throw new Error(`A second nest add changed ${changed.join(', ')}`);

  const found = client === 'none' ? undefined : await app.version(client);
  const wanted = row.ioredis ?? row.nodeRedis;
  if (wanted !== undefined && found?.startsWith(`${wanted}.`) !== true)
    throw new Error(`nest add installed ${client} ${found}, expected ${wanted}`);

  cpSync(join(TEMPLATES, 'app.controller.ts'), join(app.folder, sources, 'app.controller.ts'));
  // A machine that builds another application meanwhile may take long for the first answer of Redis.
  const module = join(app.folder, sources, 'app.module.ts');
  const patient = readFileSync(module, 'utf8').replace(
    'process.env.REDIS_URL,',
    "process.env.REDIS_URL,\n      deadline: '5s',",
  );
  writeFileSync(module, patient);
}

/**
 * Asks as a client behind the proxy, whose address no request has had.
 *
 * @throws {Error} when trust proxy is not set
 */
export async function expectTrustedProxy(url: string): Promise<void> {
  const { status } = await fetch(`${url}/burst`, { headers: { 'X-Forwarded-For': '203.0.113.9' } });
  if (status !== 200)
    throw new Error(`A client behind the proxy got ${status}, expected 200 after the burst of another`);
}
