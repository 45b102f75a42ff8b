import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as send } from 'node:http';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { until } from '../support/faults/until.js';
import { type Service, start } from './support/start-app.js';

const ON = { RATE_LIMIT: 'on' };
const FOREIGN = 'attacker.example';

const left: ClientRequest[] = [];

afterEach(() => {
  for (const one of left.splice(0)) one.destroy();
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: { readonly error?: string; readonly message?: string };
}

/** Sends a request from an address of this machine. An answer of 200 stays open, since it may be an endless stream. */
async function ask(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  localAddress = '127.0.0.1',
): Promise<Answer & { leave(): void }> {
  const asked = send({ port: new URL(url).port, host: '127.0.0.1', localAddress, path, headers, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  asked.on('error', () => undefined);
  left.push(asked);
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  if (response.statusCode !== 200) await once(response, 'end');
  return {
    status: response.statusCode!,
    headers: response.headers,
    body: response.statusCode === 200 ? {} : (JSON.parse(text) as Answer['body']),
    leave: () => void asked.destroy(),
  };
}

const watch = (url: string, address: string): ReturnType<typeof ask> => ask(url, '/control-room/events', {}, address);

describe('access to the control room', () => {
  const READS = ['/', '/control-room/files/main.js', '/control-room/events'];
  const WRITES = [
    ['put', '/control-room/surge', { on: false }],
    ['put', '/control-room/worlds/left/limits', { on: true }],
    ['post', '/control-room/pods/sends', {}],
  ] as const;

  /** For the requests that change nothing. */
  let shared: Service;
  beforeAll(async () => {
    shared = await start({ ...ON, CONTROL_ROOM_HOSTS: 'room.example, other.example' });
  });
  afterAll(() => shared.app.close());

  it('rejects hosts that can be a rebinding name, and a request without one', async () => {
    const { url } = shared;
    for (const name of [FOREIGN, `localhost.${FOREIGN}`, `localhost@${FOREIGN}`, '0.0.0.0', '192.168.7.7']) {
      const host = `${name}:${new URL(url).port}`;
      for (const path of READS) {
        const { status, body } = await ask(url, path, { Host: host, 'X-Forwarded-Host': 'localhost' });
        expect([name, path, status, body.error]).toEqual([name, path, 403, 'host_not_allowed']);
      }
      for (const [method, path, body] of WRITES) {
        const answer = await request(url)[method](path).set('Host', host).set('X-Control-Room', '1').send(body);
        expect([name, path, answer.status, answer.body.error]).toEqual([name, path, 403, 'host_not_allowed']);
      }
    }
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write('GET / HTTP/1.0\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(data.toString()).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('accepts hosts that name this machine', async () => {
    const { url } = shared;
    for (const name of ['LOCALHOST', '127.0.0.7', '[::1]', 'room.example']) {
      const host = `${name}:${new URL(url).port}`;
      await request(url).get('/').set('Host', host).expect(200);
      const [method, path] = WRITES[0];
      const headers = { Host: host, Origin: `http://${host}`, 'X-Control-Room': '1' };
      expect((await request(url)[method](path).set(headers).send({ on: false })).status).toBe(204);
    }
  });

  it.each([
    ['Origin', `http://${FOREIGN}`],
    ['Origin', 'null'],
    ['Sec-Fetch-Site', 'same-site'],
  ])('rejects streams and switches for a page with %s %s', async (header, value) => {
    const { url } = shared;
    const stream = await ask(url, '/control-room/events', { [header]: value });
    expect([stream.status, stream.body.error]).toEqual([403, 'cross_origin']);
    for (const [method, path, body] of WRITES) {
      const answer = await request(url)[method](path).set(header, value).set('X-Control-Room', '1').send(body);
      expect([path, answer.status, answer.body.error]).toEqual([path, 403, 'cross_origin']);
    }
    expect((await request(url).put('/control-room/surge').send({ on: false })).status).toBe(403);
  });

  it('limits the viewers of one address, and keeps room for others', async () => {
    const { url } = shared;
    const many = await Promise.all(Array.from({ length: 50 }, () => watch(url, '127.0.0.1')));
    const rejected = many.filter(({ status }) => status !== 200);
    expect(rejected.length).toBe(40);
    for (const { status, headers, body } of rejected) {
      expect([status, headers['retry-after']]).toEqual([429, '5']);
      expect(body).toMatchObject({ error: 'too_many_viewers', message: expect.stringContaining('10 viewers') });
    }
    const operator = await watch(url, '127.0.0.2');
    expect(operator.status).toBe(200);
    many.find(({ status }) => status === 200)!.leave();
    const next = await until('a free place', 10_000, async () => {
      const again = await watch(url, '127.0.0.1');
      return again.status === 200 ? again : undefined;
    });
    for (const viewer of [...many, operator, next]) viewer.leave();
  });
});
