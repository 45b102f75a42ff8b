import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '../../support/faults/until.js';
import { PLATFORMS } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

const BOOT_LIMIT_MS = 50_000;

interface Child {
  readonly process: ChildProcess;
  readonly output: { text: string };
  readonly exited: Promise<unknown[]>;
}

let child: Child;

afterEach(() => {
  child.process.kill('SIGKILL');
});

/** Starts an application in a process of its own. */
function run(...args: string[]): Child {
  const nodeArgs = ['--import', './test/support/typescript-loader.js', './test/support/child-app.ts', ...args];
  const started = spawn(process.execPath, nodeArgs, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { text: '' };
  for (const stream of [started.stdout, started.stderr])
    stream.on('data', (chunk: Buffer) => void (output.text += chunk.toString()));
  return { process: started, output, exited: once(started, 'close') };
}

/** Waits for the URL that the application prints when it listens. A process that ends first fails at once. */
async function listening({ process: started, output, exited }: Child): Promise<string> {
  const url = await until('the application prints its URL', BOOT_LIMIT_MS, () => {
    const hasEnded = started.exitCode !== null || started.signalCode !== null;
    return /http:\S+/.exec(output.text)?.[0] ?? (hasEnded && 'ended');
  });
  if (url !== 'ended') return url;
  await exited; // the output is whole then
  throw new Error(`The process ended:\n${output.text}`);
}

it('a process with a wrong configuration exits with an error that names handler and option, and never listens', async () => {
  child = run('Express', '0');
  const [code] = await child.exited;
  expect(code).toBeGreaterThan(0);
  expect(child.output.text).toContain(
    'Routes.get, @RateLimit: capacity must be a whole number from 1 to 1000000000000, got 0',
  );
  expect(child.output.text).not.toContain('http:');
});

it.each(PLATFORMS)('a process over %s answers waiting requests and ends by itself at SIGTERM', async (platform) => {
  await using server = await RedisServer.start();
  child = run(platform, '5', platform === 'Express' ? server.url : '');
  const url = await listening(child);
  expect((await fetch(url)).status).toBe(200);
  const statuses: number[] = [];
  const replies = Array.from({ length: 8 }, async () => {
    const { status, headers } = await fetch(url);
    statuses.push(status);
    return [status, headers.get('retry-after')];
  });
  // Five fit into the queue. The others are rejected once it is full.
  await until('the queue is full', BOOT_LIMIT_MS, () => statuses.length === 3);
  expect(statuses).toEqual([429, 429, 429]);
  child.process.kill('SIGTERM');
  const waited = (await Promise.all(replies)).filter(([status]) => status !== 429);
  expect(waited).toEqual(Array.from({ length: 5 }, () => [503, '1']));
  const [code, signal] = await child.exited;
  expect([code ?? 0, signal ?? 'SIGTERM']).toEqual([0, 'SIGTERM']);
  expect(child.output.text.trim()).toBe(url); // no error, no unhandled rejection
});
