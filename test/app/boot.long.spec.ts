import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startService } from './support/start-service.js';

it('logs little at boot, and ends with the routes, their policies and the address', async () => {
  await using service = await startService('main');
  const lines = service.log.trimEnd().split('\n');
  expect(lines.at(-1)).toBe(`http://localhost:${service.port}`);
  expect(service.log).toMatch(/Limited routes, with the limit of each policy:\n(?: {2}[A-Z]+ +\/api\/.{1,65}\n){13}/);
  expect(lines.length).toBe(18); // two lines of the library, the table, the address
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
