import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { Burst, refilledOf } from './burst.js';
import { DECIDED_BY } from './pod-limits.js';

// A bucket has 20 tokens, and one more comes back every 3 s.
it.each([
  ['nothing beyond the limit', 20, 1, 60_000, 0],
  ['less than the limit', 7, 1, 60_000, 0],
  ['one more, in the time of one token', 21, 1, 3_000, 1],
  ['one more, too early for a token: a breach stays one', 21, 1, 2_999, 0],
  ['two more, in the time of one token', 22, 1, 5_999, 1],
  ['three buckets, full', 60, 3, 40, 0],
  ['three buckets, a token in each', 63, 3, 3_000, 3],
  ['three buckets, of which one has no token back in time', 64, 3, 3_000, 3],
])('explains by tokens that came back: %s', (_, passed, buckets, tookMs, refilled) => {
  expect(refilledOf(passed, buckets, tookMs)).toBe(refilled);
});

it('says of each pod how it counted, and nothing of one that changed meanwhile', async () => {
  const counts = { store: 'together', local: 'outage', mixed: null } as const;
  const servers = await Promise.all(
    Object.keys(counts).map(async (name) => {
      let turn = 0;
      const server = createServer((_, response) => {
        const by = name === 'mixed' ? ['store', 'local'][turn++ % 2]! : name;
        response.writeHead(200, { [DECIDED_BY]: by }).end();
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      return server;
    }),
  );
  const origins = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const burst = new Burst();
  const { signal } = new AbortController();
  const together = await burst.send('ada', origins, { each: 4, together: true, signal });
  const alone = await burst.send('ada', origins, { each: 4, together: false, signal });
  await burst.close();
  for (const server of servers) server.close();
  expect(together.pods.map(({ counting }) => counting)).toEqual(Object.values(counts));
  expect(alone.pods.map(({ counting }) => counting)).toEqual(['alone', 'alone', 'alone']);
});

it('counts an answer that breaks off as failed', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('half', () => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const burst = new Burst();
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { signal } = new AbortController();
  const result = await burst.send('ada', [origin], { each: 3, together: false, signal });
  await burst.close();
  server.close();
  expect(result).toMatchObject({ sent: 3, passed: 0, refused: 0, failed: 3 });
});
