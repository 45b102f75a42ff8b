import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { until } from '../support/faults/until.js';
import { GARDEN, RIDE } from './support/requests.js';
import { ServiceProcess } from './support/service-process.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

const GRACE_MS = 1500;
/** The delay that a busy machine may add. */
const ROOM_MS = 4000;
const QUICK = {
  SHUTDOWN_GRACE_SECONDS: `${GRACE_MS / 1000}`,
  MATCHING_SERVICE_MS: '0',
  MATCHING_WORKERS: '10000',
  RATE_LIMIT: 'off',
};
const HOST = 'Host: localhost\r\n';

interface Subject {
  readonly entry: 'main' | 'matching.main';
  /** Three routes: with a body, with a wait for matching, and with a large answer. */
  readonly post: string;
  readonly slow: readonly [path: string, body: object];
  readonly large: string;
}

const SUBJECTS: readonly Subject[] = [
  {
    entry: 'main',
    post: '/api/drivers/location',
    slow: ['/api/rides/request', RIDE],
    large: '/control-room/files/inter-latin-wght-normal.woff2',
  },
  {
    entry: 'matching.main',
    post: '/drivers/positions',
    slow: ['/matches', GARDEN],
    large: `/drivers/nearby?lat=${GARDEN.lat}&lng=${GARDEN.lng}&radius_km=20&limit=1000`,
  },
];

const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`;

async function answered(socket: Socket): Promise<string> {
  const [data] = (await once(socket, 'data')) as [Buffer];
  return data.toString();
}

describe.each(SUBJECTS)('the shutdown of $entry', ({ entry, post, slow, large }) => {
  const start = (variables: Record<string, string> = {}): Promise<ServiceProcess> =>
    ServiceProcess.start(entry, { ...QUICK, ...variables });

  /** Requests some 20 MB, more than the system's buffers hold, and reads nothing. */
  async function fill(service: ServiceProcess, socket: Socket): Promise<void> {
    socket.pause();
    // A few at a time, so that the process is not too busy for anything else.
    for (let i = 0; i < 20; i++) {
      socket.write(get(large).repeat(20));
      await (await fetch(`${service.url}/healthz`)).text();
      await delay(20);
    }
  }

  /** Each opens a connection that does not end by itself. */
  const HANGING: Readonly<Record<string, (service: ServiceProcess) => Promise<unknown>>> = {
    'half a request line': (service) => service.open('GET /hea'),
    'half-sent headers': (service) => service.open(`GET /healthz HTTP/1.1\r\n${HOST}X-Half: `),
    'a half-sent body': (service) =>
      service.open(`POST ${post} HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a`),
    'a half-sent body in chunks': (service) =>
      service.open(
        `POST ${post} HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a`,
      ),
    'a second request that is half sent': async (service) => {
      const socket = await service.open(get('/healthz'));
      await answered(socket);
      socket.write('GET /healthz HTTP/1.1\r\n');
    },
    'a client that does not read': async (service) => fill(service, await service.open()),
  };

  it('ends after the grace, whatever hangs', async () => {
    await using service = await start();
    for (const hang of Object.values(HANGING)) await hang(service);
    await delay(100);
    const { signal, afterMs } = await service.end('SIGTERM', GRACE_MS + ROOM_MS);
    expect(signal).toBe('SIGTERM');
    expect(afterMs).toBeGreaterThan(GRACE_MS / 2); // not at once; a timer that a busy loop sets is early
    const all = Object.keys(HANGING).length;
    expect(service.log).toContain(`Cut off connections that did not end within ${GRACE_MS} ms: ${all}\n`);
  });

  it('closes idle, new and upgraded connections at once', async () => {
    await using service = await start({ SHUTDOWN_GRACE_SECONDS: '30' });
    await answered(await service.open(get('/healthz')));
    await service.open();
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
    await answered(await service.open(`GET /healthz HTTP/1.1\r\n${HOST}${upgrade}\r\n`));
    const { signal } = await service.end('SIGTERM', ROOM_MS);
    expect(signal).toBe('SIGTERM');
    expect(service.log).not.toContain('Cut off');
  });

  it('waits for open requests, and no longer', async () => {
    await using service = await start({ SHUTDOWN_GRACE_SECONDS: '30', MATCHING_SERVICE_MS: '1200' });
    const [path, body] = slow;
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    const asked = fetch(`${service.url}${path}`, init);
    await delay(400);
    const ended = service.end('SIGTERM', 1200 + ROOM_MS);
    const answer = await asked;
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await answer.text();
    expect((await ended).signal).toBe('SIGTERM');
  });

  it('waits for a client that reads slowly, and cuts no answer short', async () => {
    await using service = await start({ SHUTDOWN_GRACE_SECONDS: '30' });
    const socket = await service.open();
    socket.pause();
    socket.write(get(large).repeat(100)); // few enough that the service reads all of them at once
    await delay(1500);
    const ended = service.end('SIGTERM', 3 * ROOM_MS);
    await delay(500);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
    await once(socket, 'close');
    let left = Buffer.concat(chunks);
    let answers = 0;
    for (; left.length > 0; answers++) {
      const end = left.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/i.exec(left.subarray(0, end).toString())![1]);
      expect(left.length).toBeGreaterThanOrEqual(end + length);
      left = left.subarray(end + length);
    }
    expect(answers).toBe(100);
    expect((await ended).signal).toBe('SIGTERM');
  });

  it('is not delayed by a client that keeps sending requests', async () => {
    await using service = await start({ SHUTDOWN_GRACE_SECONDS: '30' });
    const socket = await service.open(get('/healthz'));
    const asking = setInterval(() => socket.write(get('/healthz')), 20);
    await answered(socket);
    const { signal } = await service.end('SIGTERM', ROOM_MS);
    clearInterval(asking);
    expect(signal).toBe('SIGTERM');
  });

  it('ends at once at the second signal', async () => {
    await using service = await start({ SHUTDOWN_GRACE_SECONDS: '30' });
    await service.open('GET /hea');
    await delay(100);
    service.kill('SIGTERM');
    await delay(300);
    const { signal } = await service.end('SIGINT', ROOM_MS);
    expect(signal).toBe('SIGINT');
  });

  it('ends half-sent requests while the service runs, too', async () => {
    await using service = await start({ HEADERS_TIMEOUT_SECONDS: '0.5', REQUEST_TIMEOUT_SECONDS: '1' });
    const half = await Promise.all([
      service.open(),
      service.open(`GET /healthz HTTP/1.1\r\n${HOST}X-Half: `),
      service.open(`POST ${post} HTTP/1.1\r\n${HOST}Content-Length: 100\r\n\r\n{"a`),
    ]);
    for (const socket of half) socket.resume();
    const drips = setInterval(() => half[1].write('a'), 50);
    await until('their end', 1000 + ROOM_MS, () => half.every((socket) => socket.closed));
    clearInterval(drips);
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  });
});

it('ends the streams of the control room at once', async () => {
  await using service = await ServiceProcess.start('main', { ...QUICK, SHUTDOWN_GRACE_SECONDS: '30' });
  const stream = await service.open(get('/control-room/events'));
  await answered(stream);
  const { signal } = await service.end('SIGTERM', ROOM_MS);
  expect(signal).toBe('SIGTERM');
});
