// `npm run test:oldest`: the library's own tests with the oldest packages that it supports, in a copy of the working tree
// beside it (.oldest). Arguments replace the folders, as in `npm run test:oldest -- test/e2e/module/module.spec.ts`.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

type Versions = Readonly<Record<string, string>>;

/** The lower ends of the library's `peerDependencies`, and for Nest's other packages the first versions that go with them. */
const OLDEST: Versions = {
  '@nestjs/common': '11.1.4',
  '@nestjs/core': '11.1.4',
  '@nestjs/microservices': '11.1.4',
  '@nestjs/platform-express': '11.1.4',
  '@nestjs/platform-fastify': '11.1.4',
  '@nestjs/platform-socket.io': '11.1.4',
  '@nestjs/platform-ws': '11.1.4',
  '@nestjs/testing': '11.1.4',
  '@nestjs/websockets': '11.1.4',
  // The first that takes Apollo Server 5.
  '@nestjs/apollo': '13.2.0',
  '@nestjs/axios': '4.0.0',
  // The first that takes BullMQ 6, which accepts both majors of ioredis.
  '@nestjs/bullmq': '11.0.5',
  '@nestjs/cqrs': '11.0.0',
  '@nestjs/event-emitter': '3.0.0',
  '@nestjs/graphql': '13.1.0',
  '@nestjs/mercurius': '13.1.0',
  '@nestjs/passport': '11.0.5',
  '@nestjs/schedule': '5.0.0',
  '@nestjs/swagger': '11.2.0',
  '@opentelemetry/api': '1.9.0',
  ioredis: '5.4.2',
  'prom-client': '15.0.0',
  redis: '5.0.0',
};

/** What Nest 11 loads where Nest 12 loads another package. */
const ADDED: Versions = { nats: '2.29.3' };

/** Packages whose one version goes with both majors of Nest. The throttler's is the one that `/throttler` answers like. */
const FOR_BOTH = ['@nestjs/throttler'];

/** Packages of the application and of the tools, which no test of the library needs. */
const LEFT_OUT = ['@nestjs/cli', '@nestjs/config', '@nestjs/terminus'];

/** The folders of the library's own tests. The application's and the load generator's need packages for Nest 12. */
const FOLDERS = [
  'lab',
  'libs',
  'lua',
  ...readdirSync('test')
    .filter((name) => !['app', 'browser', 'chaos', 'consumers', 'deploy', 'docs', 'package', 'surge'].includes(name))
    .map((name) => `test/${name}`),
];

interface Manifest {
  workspaces: string[];
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies: Versions;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COPY = join(ROOT, '.oldest');

expectPeersAsTested();
copySources();
writeFileSync(join(COPY, 'package.json'), JSON.stringify(manifest(), undefined, 2));
writeFileSync(join(COPY, 'package-lock.json'), JSON.stringify(lock(), undefined, 2));
run('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts');
const installed = ['@nestjs/core', 'ioredis', 'redis', 'prom-client'].map(
  (name) => `${name} ${installedVersion(name)}`,
);
console.log(`With ${installed.join(', ')} on Node ${process.version}:`);
const given = process.argv.slice(2);
const folders = given.some((argument) => argument.includes('/')) ? [] : FOLDERS;
const jest = ['run', 'jest', '--', ...folders, ...given];
process.exitCode = spawnSync('npm', jest, { cwd: COPY, stdio: 'inherit' }).status ?? 1;

/** The package must not promise an older version than the one that is tested. */
function expectPeersAsTested(): void {
  const { peerDependencies } = read('libs/nest/package.json');
  for (const [name, range] of Object.entries(peerDependencies)) {
    const oldest = OLDEST[name];
    if (oldest === undefined || range.split(' ')[0] === `^${oldest}`) continue;
    throw new Error(`peerDependencies of the library: ${name} is '${range}', but the tests run with ${oldest}`);
  }
}

/** Copies what git knows or would add, and removes from the copy what is gone. */
function copySources(): void {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  mkdirSync(COPY, { recursive: true });
  for (const name of readdirSync(COPY)) {
    if (name !== 'node_modules') rmSync(join(COPY, name), { recursive: true });
  }
  for (const file of files.toString().split('\0')) {
    if (file === '' || !existsSync(join(ROOT, file))) continue;
    mkdirSync(dirname(join(COPY, file)), { recursive: true });
    cpSync(join(ROOT, file), join(COPY, file));
  }
}

function manifest(): Manifest {
  const root = read('package.json');
  return {
    ...root,
    // The bench's peers are no part of the tests, and need Nest 12 as well.
    workspaces: ['libs/floodgate', 'libs/nest', 'libs/client', 'libs/migrate'],
    dependencies: withOldest(root.dependencies),
    devDependencies: { ...withOldest(root.devDependencies), ...ADDED },
  };
}

/** The lock file of the root, which pins the packages that stay. */
function lock(): object {
  const whole = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: object };
  const changed = (path: string): boolean =>
    /^(?:bench(?:\/|$)|node_modules\/(?:floodgate-bench|@nestjs\/|@nest-lab\/))/.test(path) ||
    path.split('node_modules/').some((name) => OLDEST[name.replace(/\/$/, '')] !== undefined);
  const packages = Object.entries(whole.packages).filter(([path]) => !changed(path));
  return { ...whole, packages: Object.fromEntries(packages) };
}

function withOldest(versions: Versions): Record<string, string> {
  const kept = Object.entries(versions).filter(([name]) => !LEFT_OUT.includes(name));
  return Object.fromEntries(
    kept.map(([name, version]) => {
      if (name.startsWith('@nestjs/') && OLDEST[name] === undefined && !FOR_BOTH.includes(name)) {
        throw new Error(
          `tools/oldest-packages.ts: which version of ${name} goes with Nest ${OLDEST['@nestjs/core']}? Add it to OLDEST`,
        );
      }
      return [name, OLDEST[name] ?? version];
    }),
  );
}

function installedVersion(name: string): string {
  const { version } = JSON.parse(readFileSync(join(COPY, 'node_modules', name, 'package.json'), 'utf8')) as {
    version: string;
  };
  if (version !== OLDEST[name]) throw new Error(`${name} ${version} is installed, not ${OLDEST[name]}`);
  return version;
}

function read(file: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Manifest;
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd: COPY, stdio: 'inherit' });
}
