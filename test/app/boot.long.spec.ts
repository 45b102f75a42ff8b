import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { startService } from './support/start-service.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

const ROUTES = `  PUT  /api/admin/riders/:id/plan    default (sliding-window-log, 30)
  PUT  /api/admin/zones/:zone/surge  default (sliding-window-log, 5)
  GET  /api/admin/zones/stats        default (fixed-window, 60)
  POST /api/drivers/location         reporter (token-bucket, 2500), location-index (leaky-bucket, 5000)
  GET  /api/drivers/nearby           rider (token-bucket, 30), matching (token-bucket, 60)
  POST /api/fares/estimate           rider (token-bucket, 20), matching (token-bucket, 30)
  POST /api/login                    login-address (token-bucket, 60), login-account (sliding-window-log, 5)
  POST /api/rides/request            rider (token-bucket, 20), matching (token-bucket, 60)
  GET  /api/trips/:id/summary        summaries (fixed-window, 20), summary-tokens (token-bucket, 6000)
  POST /api/trips/:id/tip            tips (fixed-window, 10)
  GET  /api/trips/export             exports (concurrency, 2)
  GET  /api/trips/history            default (sliding-window-counter, 30)
  POST /api/trips/summaries          summaries (fixed-window, 20)
`;

it('logs little at boot, and ends with the routes, their policies and the address', async () => {
  await using service = await startService('main');
  const lines = service.log.trimEnd().split('\n');
  expect(lines.at(-1)).toContain(`Listening on http://localhost:${service.port}`);
  expect(service.log).toContain(`Limited routes and their policies:\n${ROUTES}`);
  expect(lines.length).toBe(17); // two lines of the library, the table, the address
});

describe('an address that cannot be listened on ends the boot with one line', () => {
  const neighbour = createServer();
  let taken: string;

  beforeEach(async () => {
    await once(neighbour.listen(0, '127.0.0.1'), 'listening');
    taken = String((neighbour.address() as AddressInfo).port);
  });

  afterEach(() => void neighbour.close());

  const rejectionOf = (entry: 'main' | 'matching.main', variables: Record<string, string>): Promise<string> =>
    startService(entry, variables).then(
      () => 'it has started',
      (error: Error) => error.message.replaceAll(/^.* (?:LOG|WARN) .*\n/gm, ''), // what the library says at boot
    );

  it.each([
    ['main', 'PORT', 'PORT'],
    ['matching.main', 'MATCHING_PORT', 'MATCHING_PORT'],
  ] as const)('%s: a port that another process has, as %s', async (entry, variable, other) => {
    expect(await rejectionOf(entry, { [variable]: taken })).toBe(
      'the service ended (1):\n' +
        `Port ${taken} is taken: end the process that listens on it, or set ${other} to a free port\n`,
    );
  });
});
