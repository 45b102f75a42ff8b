import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import { after, before, test } from 'node:test';

/** The runtime's newest features, with Node's modules as the documentation asks for. */
const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-04-01",
  compatibilityFlags = ["nodejs_compat"],
);
`;

writeFileSync('dist/config.capnp', CONFIG);
const { default: workerd } = createRequire(import.meta.url)('workerd') as { default: string }; // the path of the program
const runtime = spawn(workerd, ['serve', '--control-fd=3', 'dist/config.capnp'], {
  stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
});
let url: string;

before(async () => {
  // It says which port it has taken, or ends.
  const told = once(runtime.stdio[3] as Readable, 'data') as Promise<[Buffer]>;
  const ended = once(runtime, 'exit').then(() => Promise.reject(new Error('workerd has ended')));
  const [line] = await Promise.race([told, ended]);
  url = `http://127.0.0.1:${(JSON.parse(String(line)) as { port: number }).port}`;
});
after(() => runtime.kill());

async function statuses(path: string, count: number, headers: Record<string, string> = {}): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < count; i++) {
    const response = await fetch(url + path, { headers: { 'CF-Connecting-IP': '203.0.113.7', ...headers } });
    await response.arrayBuffer();
    found.push(response.status);
  }
  return found;
}

test('limits each client', async () => {
  assert.deepEqual(await statuses('/all', 4), [200, 200, 200, 429]);
  assert.deepEqual(await statuses('/all', 1, { 'CF-Connecting-IP': '203.0.113.8' }), [200]);
  assert.deepEqual(await statuses('/all', 5, { 'CF-Connecting-IP': '10.0.0.1' }), [200, 200, 200, 200, 200]);
});

test('settles a request when its handler has returned', async () => {
  assert.deepEqual(await statuses('/failures', 5), [200, 200, 200, 200, 200]);
  assert.deepEqual(await statuses('/failures?status=401', 4), [401, 401, 401, 429]);
});

test('does not wait for a function that hangs', async () => {
  assert.deepEqual(await statuses('/hangs', 1), [200]);
  assert.deepEqual(await statuses('/hangs', 1, { 'X-Hangs': 'yes' }), [200]);
});

test('says what a Worker cannot do', async () => {
  const response = await fetch(`${url}/refused`);
  assert.match(await response.text(), /a concurrency is not for Cloudflare Workers/);
});
