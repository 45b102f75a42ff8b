import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import type { ServiceProcess } from '../../tools/service-process.js';
import { until } from '../support/faults/until.js';
import { startService } from './support/start-service.js';

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

const get = (path: string): string => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`;

async function answered(socket: Socket): Promise<string> {
  const [data] = (await once(socket, 'data')) as [Buffer];
  return data.toString();
}

/** The service reads what came before as well, as it answers a request on a newer connection. */
async function hasRead(service: ServiceProcess): Promise<void> {
  const socket = await service.open(get('/healthz'));
  await answered(socket);
  socket.destroy();
}

describe('the shutdown', () => {
  const start = (variables: Record<string, string> = {}): Promise<ServiceProcess> =>
    startService('main', { ...QUICK, ...variables });

  /** Each opens a connection that does not end by itself. */
  const HANGING: Readonly<Record<string, (service: ServiceProcess) => Promise<unknown>>> = {
    'half a request line': (service) => service.open('GET /hea'),
    'a half-sent body': (service) =>
      service.open(
        `POST /api/drivers/location HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a`,
      ),
    'a second request that is half sent': async (service) => {
      const socket = await service.open(get('/healthz'));
      await answered(socket);
      socket.write('GET /healthz HTTP/1.1\r\n');
    },
  };

  it('ends after the grace, whatever hangs', async () => {
    await using service = await start();
    for (const hang of Object.values(HANGING)) await hang(service);
    await hasRead(service);
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

  it('ends at once at the second signal', async () => {
    await using service = await start({ SHUTDOWN_GRACE_SECONDS: '30' });
    await service.open('GET /hea');
    await hasRead(service);
    service.kill('SIGTERM');
    // Signals that are pending together may come in another order.
    const isClosing = (): Promise<boolean> =>
      service
        .open()
        .then(() => false)
        .catch(() => true);
    await until('no new connections', 10_000, isClosing);
    const { signal } = await service.end('SIGINT', ROOM_MS);
    expect(signal).toBe('SIGINT');
  });
});

it('ends the streams of the control room at once', async () => {
  await using service = await startService('main', { ...QUICK, SHUTDOWN_GRACE_SECONDS: '30' });
  const stream = await service.open(get('/control-room/events'));
  await answered(stream);
  const { signal } = await service.end('SIGTERM', ROOM_MS);
  expect(signal).toBe('SIGTERM');
});
