import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { Processes } from '../support/processes/processes.js';
import { SEED } from '../support/property-runs.js';
import { RedisServer } from '../support/redis-server.js';
import type { Busy, Phase } from './workers/busy.js';

jest.setTimeout(120_000); // it is real time, and the machine may be busy

const RUNS = 10;
const CONNECTIONS = 10_000;
/** The limits of the routes in workers/busy.ts. */
const LIMIT = 10;
const BURST_LIMIT = 3_000;

let server: RedisServer;
let processes: Processes<Busy>;
let port: number;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  server = await RedisServer.start();
  processes = await Processes.start<Busy>(new URL('./workers/busy.ts', import.meta.url), 1);
  [port] = (await processes.all('start', () => server.url)) as [number];
});

afterAll(async () => {
  agent.destroy();
  await processes?.stop();
  await server?.stop();
});

/** The requests of one client, one after the other. */
interface Lane {
  readonly route: 'limited' | 'free';
  readonly phase: Phase;
  readonly requests: number;
  /** Milliseconds that each handler computes, and that the client waits between two requests. */
  readonly ms: number;
  readonly pauseMs: number;
}

const lane: fc.Arbitrary<Lane> = fc.record({
  route: fc.constantFrom('limited', 'limited', 'free'),
  phase: fc.constantFrom('at once', 'at once', 'tick', 'immediate', 'timer'),
  requests: fc.integer({ min: 1, max: 4 }),
  ms: fc.oneof(fc.constant(0), fc.integer({ min: 60, max: 150 })),
  pauseMs: fc.integer({ min: 0, max: 60 }),
});

function statusOf(path: string, user: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ agent, port, host: '127.0.0.1', path, headers: { 'X-Lane': user } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!));
    }).on('error', reject);
  });
}

it('a limit admits exactly its number while handlers compute in any phase of the event loop', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(lane, { minLength: 8, maxLength: 16 }), async (lanes) => {
      const user = randomUUID();
      const statuses: number[] = [];
      const run = async ({ route, phase, requests, ms, pauseMs }: Lane): Promise<void> => {
        for (let i = 0; i < requests; i++) {
          await delay(pauseMs);
          const query = new URLSearchParams({ phase, ms: String(ms) }).toString();
          const status = await statusOf(`/${route}?${query}`, user);
          if (route === 'limited') statuses.push(status);
        }
      };
      await Promise.all(lanes.map(run));
      const allowed = statuses.filter((status) => status === 200).length;
      const rejected = statuses.filter((status) => status === 429).length;
      const admitted = Math.min(LIMIT, statuses.length);
      expect({ allowed, rejected }).toEqual({ allowed: admitted, rejected: statuses.length - admitted });
    }),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
});

it(`a limit of ${BURST_LIMIT} admits ${BURST_LIMIT} of ${CONNECTIONS} connections that ask at once`, async () => {
  const sockets: Socket[] = [];
  for (let i = 0; i < CONNECTIONS; i++) {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    if (i % 100 === 99) await once(socket, 'connect');
  }
  const statuses = sockets.map(async (socket) => {
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    return bytes.toString('latin1', 9, 12);
  });
  for (const socket of sockets) socket.write('GET /burst HTTP/1.1\r\nHost: a\r\n\r\n');
  const seen: Record<string, number> = {};
  for (const status of await Promise.all(statuses)) seen[status] = (seen[status] ?? 0) + 1;
  for (const socket of sockets) socket.destroy();
  expect(seen).toEqual({ 200: BURST_LIMIT, 429: CONNECTIONS - BURST_LIMIT });
});
