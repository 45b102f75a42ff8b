// Prints how much code of the library one warm request runs: its files and named functions, by V8's precise coverage.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Session } from 'node:inspector/promises';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { optionsOf } from './command-line.js';
import { compile } from './compile.js';

const USAGE = `npm run walk -- [options]
  --verbose  names the files and functions
  --json     prints the counts as one line of JSON`;
const values = optionsOf(USAGE, { verbose: { type: 'boolean' }, json: { type: 'boolean' } });

/** Requests before the one that is measured: V8 and the library keep what they need again. */
const WARM = 30;
/** Measured requests: what runs beside one, such as a sweep, is left out by the median. */
const MEASURED = 9;
/** Milliseconds for what follows these requests, such as a refund. */
const REST_MS = 300;
const PACKAGES = /\/libs\/[\w-]+\/src\/(.*)$/;

const BUCKET = { algorithm: 'token-bucket', capacity: 100, refill: '100/s' };
const RICH = [
  { name: 'login', algorithm: 'sliding-window-log', limit: 50, window: '1m', countIf: ({ status }) => status === 401 },
  { name: 'open', algorithm: 'concurrency', limit: 5, lease: '30s' },
  { name: 'shared', ...BUCKET, by: 'global', priorities: { high: 1, low: 0.5 }, priority: 'low' },
];

const url = await compile();
const { RateLimit, RateLimitModule } = await import(url('libs/nest/src/index'));
const redis = await startRedis();
try {
  const walks = {
    memory: await walk(undefined, [BUCKET]),
    redis: await walk(redis.url, [BUCKET]),
    rich: await walk(redis.url, RICH),
  };
  if (values.json) console.log(JSON.stringify(Object.fromEntries(Object.entries(walks).map(counted))));
  else for (const [name, { files, functions, ran }] of Object.entries(walks)) print(name, files, functions, ran);
} finally {
  redis.child.kill();
}
process.exit(0); // the decorated application may keep connections for a while

function counted([name, { files, functions }]) {
  return [name, { files, functions }];
}

function print(name, files, functions, ran) {
  console.log(`${name.padEnd(8)}${String(files).padStart(4)} files ${String(functions).padStart(5)} functions`);
  if (values.verbose) for (const [file, names] of ran) console.log(`    ${file}: ${names.join(' ')}`);
}

/** What one request of a route with these policies runs, after some others. */
async function walk(redisUrl, policies) {
  class Routes {
    read() {
      return 'ok';
    }
  }
  const read = Object.getOwnPropertyDescriptor(Routes.prototype, 'read');
  Get('read')(Routes.prototype, 'read', read);
  RateLimit(...policies)(Routes.prototype, 'read', read);
  Controller()(Routes);
  class App {}
  Module({ imports: [RateLimitModule.forRoot({ redis: redisUrl })], controllers: [Routes] })(App);
  const app = await NestFactory.create(App, { logger: false, abortOnError: false });
  await app.listen(0, '127.0.0.1');
  const address = `${await app.getUrl()}/read`;
  const send = async () => {
    const response = await fetch(address);
    await response.text();
    if (response.status !== 200) throw new Error(`the route answered ${response.status}`);
  };
  for (let i = 0; i < WARM; i++) await send();
  await delay(REST_MS);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const walks = [];
  for (let i = 0; i < MEASURED; i++) {
    await delay(REST_MS / MEASURED);
    await session.post('Profiler.takePreciseCoverage'); // counts from here
    await send();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    walks.push(ranOf(result));
  }
  session.disconnect();
  await app.close();
  walks.sort((one, other) => one.functions - other.functions);
  return walks[(MEASURED - 1) / 2];
}

function ranOf(scripts) {
  const ran = scripts
    .filter((script) => PACKAGES.test(script.url))
    .map((script) => [PACKAGES.exec(script.url)[1], namesOf(script.functions)])
    .filter(([, names]) => names.length > 0);
  return { files: ran.length, functions: ran.reduce((sum, [, names]) => sum + names.length, 0), ran };
}

function namesOf(functions) {
  return functions
    .filter(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0)
    .map(({ functionName }) => functionName);
}

async function startRedis() {
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address();
  free.close();
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return { child, url: `redis://127.0.0.1:${port}` };
}
