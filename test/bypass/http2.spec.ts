import { once } from 'node:events';
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimit } from 'nestjs-floodgate';
import { limited } from '../support/http-app.js';
import { selfSigned } from '../support/self-signed.js';
import { StillStore } from '../support/still-store.js';

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'one', algorithm: 'token-bucket', capacity: 5, refill: '1/h' })
  get(): void {}
}

interface Served extends AsyncDisposable {
  readonly store: StillStore;
  readonly open: () => ClientHttp2Session;
}

/** Serves Fastify only. Express replaces the prototype of requests, which breaks Node's compatibility API of HTTP/2. */
async function serve(https?: ReturnType<typeof selfSigned>): Promise<Served> {
  const store = new StillStore();
  const middleware = [{ name: 'all', algorithm: 'token-bucket', capacity: 100, refill: '1/h' } as const];
  const app = await limited('Fastify', Routes, { store, middleware }, { fastify: { http2: true }, https });
  const sessions: ClientHttp2Session[] = [];
  const open = (): ClientHttp2Session => {
    const url = `${https === undefined ? 'http' : 'https'}://127.0.0.1:${app.port}`;
    const session = connect(url, { rejectUnauthorized: false }).on('error', () => {});
    sessions.push(session);
    return session;
  };
  const close = async (): Promise<void> => {
    for (const session of sessions) session.destroy();
    await app.close();
  };
  return { store, open, [Symbol.asyncDispose]: close };
}

async function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders = {}): Promise<IncomingHttpHeaders> {
  const stream = session.request(headers);
  stream.resume();
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  return answer;
}

describe.each([
  ['without TLS', undefined],
  ['over TLS', selfSigned()],
])('HTTP/2 %s', (_, certificate) => {
  it('has the headers of HTTP/1, on allowed and rejected requests', async () => {
    await using served = await serve(certificate);
    const session = served.open();
    for (let i = 4; i >= 0; i--) {
      expect(await ask(session)).toMatchObject({
        ':status': 200,
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': `${i}`,
      });
    }
    expect(await ask(session)).toMatchObject({ ':status': 429, 'retry-after': '3600', 'x-ratelimit-remaining': '0' });
  });

  it('has one bucket for all streams and connections of an address, whatever their headers say', async () => {
    await using served = await serve(certificate);
    const sessions = [served.open(), served.open(), served.open()];
    const answers = await Promise.all(
      Array.from({ length: 30 }, (__, i) => {
        const headers = {
          'x-user-id': `u${i}`,
          'x-api-key': `k${i}`,
          'x-forwarded-for': `10.0.0.${i}`,
          ':authority': `h${i}`,
        };
        return ask(sessions[i % 3]!, headers);
      }),
    );
    expect(answers.filter((answer) => Number(answer[':status']) === 200)).toHaveLength(5);
    expect(new Set(served.store.keys.map((key) => /\{.*\}/.exec(key)![0]))).toEqual(new Set(['{ip:127.0.0.1}']));
  });
});
