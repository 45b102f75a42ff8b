import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { HttpSender } from './http-sender.js';
import { Rider } from './rider.js';

let server: Server;
let origin: string;
let open: ServerResponse[];
let sender: HttpSender | undefined;

beforeEach(async () => {
  open = [];
  server = createServer((_, response) => void open.push(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await sender?.close();
  await new Promise((resolve) => server.close(resolve));
});

const nearby = { ...new Rider(1, 0).next(), route: 'nearby' as const };

const asked = (): Promise<ServerResponse> =>
  new Promise((resolve) => server.once('request', (_, response) => resolve(response)));

it('leaves when the patience ends, and the server sees the connection close', async () => {
  sender = new HttpSender([origin], { patienceMs: 200 });
  const since = performance.now();
  const sent = sender.send(nearby, 0);
  const response = await asked();
  const closed = new Promise((resolve) => response.once('close', resolve));
  expect(await sent).toEqual({ status: 0 });
  expect(performance.now() - since).toBeGreaterThanOrEqual(199);
  await closed;
  expect(response.destroyed).toBe(true);
});

it('stays for an answer within the patience', async () => {
  sender = new HttpSender([origin], { patienceMs: 20_000 });
  const sent = sender.send(nearby, 0);
  (await asked()).writeHead(429).end('{"policy":"rider"}');
  expect(await sent).toEqual({ status: 429, policy: 'rider' });
});
