import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { PLATFORMS } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

interface Child {
  readonly process: ChildProcess;
  readonly output: { text: string };
  readonly exited: Promise<unknown[]>;
}

let child: Child;

afterEach(() => {
  child.process.kill('SIGKILL');
});

/** An application in a process of its own. */
function run(...args: string[]): Child {
  const nodeArgs = ['--import', './test/support/typescript-loader.js', './test/support/child-app.ts', ...args];
  const started = spawn(process.execPath, nodeArgs, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { text: '' };
  for (const stream of [started.stdout, started.stderr])
    stream.on('data', (chunk: Buffer) => void (output.text += chunk.toString()));
  return { process: started, output, exited: once(started, 'close') };
}

/** The URL that it prints once it listens. */
async function listening({ output, exited }: Child): Promise<string> {
  const gone = exited.then(() => true);
  for (;;) {
    const url = /http:\S+/.exec(output.text)?.[0];
    if (url !== undefined) return url;
    if (await Promise.race([gone, delay(20, false)])) throw new Error(`It ended:\n${output.text}`);
  }
}

describe.each(PLATFORMS)('a process with an application over %s', (platform) => {
  it('exits non-zero at a wrong configuration, saying where and what, and never listens', async () => {
    child = run(platform, '0');
    const [code] = await child.exited;
    expect(code).toBeGreaterThan(0);
    expect(child.output.text).toContain(
      'Routes.get, @RateLimit: capacity must be a whole number from 1 to 1000000000000, got 0',
    );
    expect(child.output.text).not.toContain('http:');
  });

  it.each(['in memory', 'in Redis'])(
    'answers who waits and ends by itself at SIGTERM, limits kept %s',
    async (where) => {
      await using server = await RedisServer.start();
      child = run(platform, '5', where === 'in Redis' ? server.url : '');
      const url = await listening(child);
      expect((await fetch(url)).status).toBe(200);
      const waiting = [1, 2, 3].map(() => fetch(url));
      await delay(200);
      child.process.kill('SIGTERM');
      const replies = await Promise.all(waiting);
      expect(replies.map(({ status }) => status)).toEqual([503, 503, 503]);
      expect(replies[0]!.headers.get('retry-after')).toBe('1');
      const [code, signal] = await child.exited;
      expect([code ?? 0, signal ?? 'SIGTERM']).toEqual([0, 'SIGTERM']);
      expect(child.output.text.trim()).toBe(url); // no error, no unhandled rejection
    },
  );
});
