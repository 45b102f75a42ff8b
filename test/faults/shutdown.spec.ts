import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { record } from '../support/faults/record.js';
import { until } from '../support/faults/until.js';
import { PLATFORMS } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const LIMIT_MS = 10_000;
const HOUR_MS = 3_600_000;
const WAITERS = 3;

let child: ChildProcess;

afterEach(() => void child.kill('SIGKILL'));

/** When the next request may leave the queue: each charge has moved it by an hour. */
async function charged(server: RedisServer): Promise<number> {
  const client = new Redis(server.url);
  const [key = ''] = await client.keys('rl:{global*');
  const slot = Number((await client.get(key))!.slice(0, 16)) / 1000;
  client.disconnect();
  return Math.round((slot - Date.now()) / HOUR_MS);
}

it.each(PLATFORMS)(
  'an application over %s that closes while Redis hangs rejects waiting requests, closes within a second, and leaves nothing open',
  async (platform) => {
    await using server = await RedisServer.start();
    const args = ['--import', './test/support/typescript-loader.js', './test/support/faults/closing-app.ts'];
    child = spawn(process.execPath, [...args, platform, server.url], { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (text) => void (output += String(text)));
    const ended = once(child, 'close');
    const url = await until('it listens', LIMIT_MS, () => /http:\S+/.exec(output)?.[0]);

    // Each request has its own connection: the server would wait for one that is kept alive.
    const ask = async (): Promise<{ status: number | undefined; at: number }> => {
      const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
      response.resume();
      return { status: response.statusCode, at: performance.now() };
    };
    expect((await ask()).status).toBe(200);
    const waiting = Array.from({ length: WAITERS }, ask);
    await until('they wait', LIMIT_MS, async () => (await charged(server)) === 1 + WAITERS);
    server.pause();
    const asking = ask(); // it hangs with Redis, and is decided locally as the first request there
    await delay(20);
    const since = performance.now();
    child.stdin!.end();

    const replies = await Promise.all(waiting);
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 503));
    const last = await asking;
    expect([200, 503]).toContain(last.status);
    // The process was only told to close: it ends because nothing is left to wait for.
    const [code, signal] = (await Promise.race([ended, delay(LIMIT_MS, ['it hangs'], { ref: false })])) as unknown[];
    expect([code, signal]).toEqual([0, null]);
    expect(output).toMatch(/^http:\S+\nclosed in \d+ ms\n$/); // no error, no unhandled rejection
    expect(Number(/closed in (\d+)/.exec(output)?.[1])).toBeLessThan(1000);

    server.resume();
    const doubles = Math.max(0, (await charged(server)) - (1 + WAITERS + 1));
    const passed = [...replies, last].filter(({ status }) => status === 200).length;
    const overAdmissions = Math.max(0, passed - 1); // the one that the local limit allows
    const answers = [...replies, last].map(({ at }) => at - since);
    record(`shutdown while Redis hangs (${platform})`, { answers, doubles, overAdmissions });
    expect({ doubles, overAdmissions }).toEqual({ doubles: 0, overAdmissions: 0 });
  },
);
