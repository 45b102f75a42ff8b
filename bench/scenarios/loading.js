import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median, ratio, verify } from '../measure.js';

const BENCH = fileURLToPath(new URL('..', import.meta.url));
const PEER = '@nestjs/throttler';
/** Processes for each round: one is as likely as not to meet another load on the machine. */
const EACH = 3;

/** Modules of Nest that each application has loaded before. */
const NEST = ['reflect-metadata', '@nestjs/common', '@nestjs/core', '@nestjs/platform-express'];

/** An application with one limited route, and its module. */
const CONTESTANTS = [
  {
    name: 'nestjs-floodgate',
    module: 'loaded.RateLimitModule.forRoot()',
    decorator: "loaded.RateLimit({ algorithm: 'fixed-window', limit: 1, window: '1h' })",
    providers: '[]',
  },
  {
    name: PEER,
    module: 'loaded.ThrottlerModule.forRoot([{ limit: 1, ttl: 3_600_000 }])',
    decorator: 'loaded.Throttle({ default: { limit: 1 } })',
    providers: '[{ provide: core.APP_GUARD, useClass: loaded.ThrottlerGuard }]',
  },
];

const FORMATS = {
  import: { args: ['--input-type=module'], load: (name) => `await import('${name}')` },
  require: { args: ['--input-type=commonjs'], load: (name) => `require('${name}')` },
};

/** A process that loads a package after Nest, boots an application with it, and asks its route twice. */
function program({ name, module, decorator, providers }, load) {
  return `
    const run = async () => {
      const before = process.cpuUsage();
      const start = performance.now();
      const loaded = ${load(name)};
      const ms = performance.now() - start;
      const { user, system } = process.cpuUsage(before);
      const common = ${load('@nestjs/common')};
      const core = ${load('@nestjs/core')};
      class Routes { get() { return 'ok'; } }
      const route = Object.getOwnPropertyDescriptor(Routes.prototype, 'get');
      common.Controller()(Routes);
      common.Get()(Routes.prototype, 'get', route);
      ${decorator}(Routes.prototype, 'get', route);
      class App {}
      common.Module({ imports: [${module}], controllers: [Routes], providers: ${providers} })(App);
      const app = await core.NestFactory.create(App, { logger: false });
      await app.listen(0, '127.0.0.1');
      const listensMs = performance.now() - start;
      const url = await app.getUrl();
      const statuses = [(await fetch(url)).status, (await fetch(url)).status];
      await app.close();
      console.log(JSON.stringify({ ms, cpuMs: (user + system) / 1000, listensMs, statuses }));
    };
    ${NEST.map((one) => `${load(one)};`).join('\n')}
    run();`;
}

/** The time that a process takes to load the package after Nest, and until its application listens. */
async function processOf(contestant, { args, load }) {
  const options = { cwd: BENCH, env: { ...process.env, NODE_OPTIONS: '' } };
  const code = program(contestant, load);
  const { stdout } = await promisify(execFile)(process.execPath, [...args, '--eval', code], options);
  const { statuses, ...sample } = JSON.parse(stdout);
  verify(statuses.join() === '200,429', `${contestant.name} answered ${statuses.join()}`);
  return sample;
}

async function loads({ rounds }, format) {
  const samples = new Map(CONTESTANTS.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const contestant of CONTESTANTS) samples.get(contestant.name).push(await processOf(contestant, format));
  }
  return samples;
}

/** Bytes of the files that a package installs, without those of its dependencies. */
function bytesOf(name) {
  const folder = dirname(fileURLToPath(import.meta.resolve(`${name}/package.json`)));
  const { files = ['.'] } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  let bytes = 0;
  for (const file of files) {
    const path = join(folder, file);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) continue; // a file that is copied when the package is packed
    if (!found.isDirectory()) bytes += found.size;
    else
      for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
        if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size;
      }
  }
  return bytes;
}

/** What a process pays before its first request: the time to load the package, and to boot with it; and the disk for it. */
export const loading = {
  ratios: ['loading.import', 'loading.require', 'loading.listens', 'loading.bytes'],
  async run(bench) {
    const sized = bench.smoke ? bench : { ...bench, rounds: bench.rounds * EACH };
    const imported = await loads(sized, FORMATS.import);
    const required = await loads(sized, FORMATS.require);
    const [ours, peer] = CONTESTANTS.map(({ name }) => name);
    const bytes = { [ours]: bytesOf(ours), [peer]: bytesOf(peer) };
    const size = bytes[ours] / bytes[peer];
    const middle = (samples, name, figure) => median(samples.get(name).map((sample) => sample[figure])).toFixed(1);
    return {
      ratios: {
        'loading.import': ratio(imported.get(ours), imported.get(peer), 'ms'),
        'loading.require': ratio(required.get(ours), required.get(peer), 'ms'),
        'loading.listens': ratio(imported.get(ours), imported.get(peer), 'listensMs'),
        'loading.bytes': { median: size, min: size, max: size },
      },
      tables: [
        {
          title: `Loading the package after Nest, medians of ${sized.rounds} processes`,
          head: ['', 'import ms', 'CPU ms', 'require ms', 'CPU ms', 'listens after ms', 'KB installed'],
          lines: [ours, peer].map((name) => [
            name,
            middle(imported, name, 'ms'),
            middle(imported, name, 'cpuMs'),
            middle(required, name, 'ms'),
            middle(required, name, 'cpuMs'),
            middle(imported, name, 'listensMs'),
            String(Math.round(bytes[name] / 1000)),
          ]),
        },
      ],
    };
  },
};
