import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit } from 'nestjs-floodgate';
import { limited, PLATFORMS } from '../support/http-app.js';
import { exchange, headerOfEach, statuses } from '../support/raw-client.js';
import { StillStore } from '../support/still-store.js';

const LIMIT = 5;
const BUCKET: Policy = { algorithm: 'token-bucket', capacity: LIMIT, refill: '1/h' };
const KEY = `rl:{ip:127.0.0.1}:GET /api/rides:default:tb:${LIMIT}@1/3600000000`;

@Controller('api')
class Rides {
  @Get('rides')
  @RateLimit(BUCKET)
  list(): string {
    return 'rides';
  }
}

const request = (line: string, headers = ''): string => `${line}\r\nHost: floodgate.test\r\n${headers}\r\n`;
const last = (line: string, headers = ''): string => request(line, `Connection: close\r\n${headers}`);

/** Spellings of `GET /api/rides` that a limiter could take for another route. */
const SPELLINGS: [string, string][] = [
  ['HEAD', last('HEAD /api/rides HTTP/1.1')],
  ['upper case', last('GET /API/RIDES HTTP/1.1')],
  ['a trailing slash', last('GET /api/rides/ HTTP/1.1')],
  ['a double slash', last('GET /api//rides HTTP/1.1')],
  ['a double slash in front', last('GET //api/rides HTTP/1.1')],
  ['an encoded letter', last('GET /api/%72ides HTTP/1.1')],
  ['all letters encoded', last('GET /%61%70%69/%72%69%64%65%73 HTTP/1.1')],
  ['an encoded slash', last('GET /api%2Frides HTTP/1.1')],
  ['an encoded per cent sign', last('GET /api/%2572ides HTTP/1.1')],
  ['a broken encoding', last('GET /api/rides%zz HTTP/1.1')],
  ['a NUL', last('GET /api/rides%00 HTTP/1.1')],
  ['dots', last('GET /api/./rides HTTP/1.1')],
  ['encoded dots', last('GET /x/%2e%2e/api/rides HTTP/1.1')],
  ['a backslash', last('GET /api\\rides HTTP/1.1')],
  ['a semicolon', last('GET /api/rides;v=1 HTTP/1.1')],
  ['a query', last('GET /api/rides?v=1 HTTP/1.1')],
  ['a fragment', last('GET /api/rides#v HTTP/1.1')],
  ['an absolute URI', last('GET http://floodgate.test/api/rides HTTP/1.1')],
  ['an absolute URI of another host', last('GET http://other.test:81/api/rides HTTP/1.1')],
  ['an absolute URI without a path', last('GET http://floodgate.test?/api/rides HTTP/1.1')],
  ['a URI without a slash', last('GET api/rides HTTP/1.1')],
  ['HTTP/1.0', 'GET /api/rides HTTP/1.0\r\n\r\n'],
  ['another host', 'GET /api/rides HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n'],
  ['two hosts', last('GET /api/rides HTTP/1.1', 'Host: other.test\r\n')],
  ['a method in lower case', last('get /api/rides HTTP/1.1')],
  ['a method override', last('GET /api/rides HTTP/1.1', 'X-HTTP-Method-Override: PUT\r\n')],
  ['rewritten URLs', last('GET /api/rides HTTP/1.1', 'X-Original-URL: /x\r\nX-Rewrite-URL: /y\r\n')],
  ['a body', last('GET /api/rides HTTP/1.1', 'Content-Length: 2\r\nContent-Type: application/json\r\n') + '{}'],
  ['an upgrade', last('GET /api/rides HTTP/1.1', 'Upgrade: h2c\r\n')],
];

describe.each(PLATFORMS)('an exhausted limit over %s', (platform) => {
  it('of a route gives no fresh bucket, whatever the spelling', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Rides, { store });
    expect(await app.crowd(LIMIT + 1, '/api/rides')).toEqual({ 200: LIMIT, 429: 1 });
    for (const [spelling, bytes] of SPELLINGS) {
      // Each of these statuses proves that no handler ran.
      const [status] = statuses(await exchange(app.port, bytes));
      expect([spelling, [429, 404, 400, 505].includes(status!)]).toEqual([spelling, true]);
    }
    expect(store.keys).toEqual([KEY]);
  });

  it('of the middleware, which reads no path, gives no fresh bucket, whatever the spelling', async () => {
    const store = new StillStore();
    const options = { store, middleware: [{ ...BUCKET, name: 'all' } as Policy] };
    await using app = await limited(platform, Rides, options);
    expect(await app.crowd(LIMIT + 1, '/nothing')).toEqual({ 404: LIMIT, 429: 1 });
    for (const [spelling, bytes] of SPELLINGS) {
      // Rejected, or answered by Node's parser or Fastify's router before the middleware.
      const [status] = statuses(await exchange(app.port, bytes));
      expect([spelling, [429, 400, 505].includes(status!)]).toEqual([spelling, true]);
    }
    expect(store.keys).toEqual([`rl:{ip:127.0.0.1}:app:all:tb:${LIMIT}@1/3600000000`]);
  });

  it('counts each pipelined request, whatever its spelling', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Rides, { store });
    const lines = ['GET /api/rides', 'HEAD /api/rides', 'GET /api/rides?x', 'GET /api/rides?', 'GET /api/rides#x'];
    const many = Array.from({ length: 20 }, (_, i) => request(`${lines[i % lines.length]!} HTTP/1.1`)).join('');
    const answer = await exchange(app.port, many + last('GET /api/rides HTTP/1.1'));
    expect(statuses(answer)).toEqual([...Array<number>(LIMIT).fill(200), ...Array<number>(16).fill(429)]);
    expect(headerOfEach(answer, 'X-RateLimit-Remaining').slice(0, 6)).toEqual(['4', '3', '2', '1', '0', '0']);
    expect(store.keys).toEqual([KEY]);
  });
});

/** A router that accepts more spellings of a route. CVE-2025-69211, -2026-2293 and -2026-33011 got past middleware this way. */
it('Fastify with every leniency runs no handler of a route with an exhausted limit, whatever the spelling', async () => {
  const routerOptions = {
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    caseSensitive: false,
    useSemicolonDelimiter: true,
  } as object;
  const store = new StillStore();
  await using app = await limited('Fastify', Rides, { store }, { fastify: { routerOptions } });
  const good = request('GET /api/rides HTTP/1.1').repeat(LIMIT - 1) + last('GET /api/rides HTTP/1.1');
  expect(statuses(await exchange(app.port, good))).toEqual(Array(LIMIT).fill(200));
  const passed: string[] = [];
  for (const [spelling, bytes] of SPELLINGS) {
    if (statuses(await exchange(app.port, bytes)).some((status) => status < 400)) passed.push(spelling);
  }
  expect(passed).toEqual([]);
  expect(store.keys).toEqual([KEY]);
});
