import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { record } from '../support/faults/record.js';
import { until } from '../support/faults/until.js';
import { PLATFORMS } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';

const LIMIT_MS = 20_000;
const HOUR_MS = 3_600_000;
const WAITERS = 3;

let child: ChildProcess;

afterEach(() => void child.kill('SIGKILL'));

/** How many requests the queue has taken: each charge has moved its next slot by an hour. */
async function charged(server: RedisServer): Promise<number> {
  const client = new Redis(server.url);
  const [key = ''] = await client.keys('rl:{global*');
  const slot = Number((await client.get(key))!.slice(0, 16)) / 1000;
  client.disconnect();
  return Math.round((slot - Date.now()) / HOUR_MS);
}

it.each(PLATFORMS)(
  'an application over %s that closes while Redis hangs rejects waiting requests, and leaves nothing open',
  async (platform) => {
    await using server = await RedisServer.start();
    const args = ['--import', './test/support/typescript-loader.js', './test/support/child-app.ts', platform, '10'];
    child = spawn(process.execPath, [...args, server.url, 'stdin'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text) => void (output += String(text)));
    const ended = once(child, 'close');
    const url = await until('it listens', LIMIT_MS, () => /http:\S+/.exec(output)?.[0]);

    // Each request has its own connection: the server would wait for one that is kept alive.
    const ask = async (): Promise<number | undefined> => {
      const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    await until('Redis lets the first request pass', LIMIT_MS, async () => (await ask()) === 200 && charged(server));
    const before = await charged(server);
    const waiting = Array.from({ length: WAITERS }, ask);
    await until('they wait', LIMIT_MS, async () => (await charged(server)) === before + WAITERS);
    server.pause();
    const asking = ask(); // it hangs with Redis, and is decided locally as the first request there
    await delay(20);
    child.stdin!.end();
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => 503));
    const last = await asking;
    expect([200, 503]).toContain(last);
    // The process was only told to close: it ends, while Redis still hangs, because nothing is left to wait for.
    expect(await ended).toEqual([0, null]);
    expect(output).toMatch(/^http:\S+\nclosed\n$/); // no error, no unhandled rejection

    server.resume();
    const doubles = Math.max(0, (await charged(server)) - (before + WAITERS + 1));
    record(`shutdown while Redis hangs (${platform})`, { answers: [], doubles, overAdmissions: 0 });
    expect(doubles).toBe(0);
  },
);
