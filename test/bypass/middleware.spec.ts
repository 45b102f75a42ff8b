import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { Body, Controller, Get, Post } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleExtras, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, isOldFastify, limited, limitHeaders, type Reply, PLATFORMS } from '../support/http-app.js';
import { exchange, headerOfEach, statuses } from '../support/raw-client.js';
import { RateLimitRuntime } from '../support/runtime.js';
import { StillStore } from '../support/still-store.js';
import { ToldStore } from '../support/told-store.js';

const LIMIT = 3;
const ADDRESS: Policy = { algorithm: 'token-bucket', capacity: LIMIT, refill: '1/h', by: 'ip', scope: 'app' };
const KEY = `rl:{ip:127.0.0.1}:app:address:tb:${LIMIT}@1/3600000000`;

@Controller('rides')
class Rides {
  @Post()
  request(@Body() ride: unknown): unknown {
    return ride;
  }

  @Get()
  list(): string {
    return 'rides';
  }
}

/** Routes that the guard limits by the middleware's policy, without the middleware. */
@Controller('again')
class Again {
  @Get()
  @RateLimit('address')
  get(): void {}
}

type Options = RateLimitModuleOptions & RateLimitModuleExtras;

const optionsWith = (more: Omit<Options, 'store'> = {}): Options & { store: StillStore } => ({
  store: new StillStore(),
  policies: { address: ADDRESS },
  middleware: ['address'],
  ...more,
});

const enableCors = (app: INestApplication): void => app.enableCors();
const HEADERS = 'Host: floodgate.test\r\nContent-Type: application/json\r\n';
const request = (line: string, headers = '', body = ''): string =>
  `${line} HTTP/1.1\r\n${HEADERS}${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
const last = (line: string, headers = '', body = ''): string => request(line, `${headers}Connection: close\r\n`, body);
const PREFLIGHT = 'Origin: http://a.test\r\nAccess-Control-Request-Method: POST\r\n';

const SLASHLESS = isOldFastify ? 200 : 404;

/** Requests with their status until they are rejected: of Express, and of Fastify if it differs. */
const TRAFFIC: [string, string, number, number?][] = [
  ['a request to a route', last('GET /rides'), 200],
  ['a request without a route', last('GET /nothing'), 404],
  ['a body that is no JSON', last('POST /rides', '', '{x'), 400],
  ['a body that is too large', last('POST /rides', '', JSON.stringify('x'.repeat(2 ** 21))), 413],
  ['a preflight', last('OPTIONS /rides', PREFLIGHT), 204],
  ['a request to the server as a whole', last('OPTIONS *', PREFLIGHT), 204],
  ['an upgrade without a listener', request('GET /rides', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'), 200],
];

afterEach(() => void jest.restoreAllMocks());

describe.each(PLATFORMS)('the middleware over %s', (platform) => {
  const open = (options: Options): Promise<HttpApp> => limited(platform, Rides, options, { configure: enableCors });

  it.each(TRAFFIC)('counts a request of any kind: %s', async (_, bytes, express, fastify = express) => {
    const options = optionsWith();
    await using app = await open(options);
    const expected = platform === 'Express' ? express : fastify;
    for (let i = 1; i <= LIMIT + 2; i++) {
      const answer = await exchange(app.port, bytes.replace('Connection: Upgrade', 'Connection: Upgrade, close'));
      expect(statuses(answer)).toEqual([i <= LIMIT ? expected : 429]);
      expect(headerOfEach(answer, 'X-RateLimit-Remaining')).toEqual([String(Math.max(0, LIMIT - i))]);
      expect(headerOfEach(answer, 'Retry-After')).toEqual(i <= LIMIT ? [] : ['3600']);
    }
    expect(options.store.keys).toEqual([KEY]);
    expect(options.store.asked).toHaveLength(LIMIT + 2);
  });

  it.each([
    ['closed', [503, 503, 503, 503]],
    ['open', [404, 404, 404, 404]],
    ['local', [404, 404, 404, 429]],
  ] as const)("answers by onStoreFailure '%s' while the store fails: %p", async (onStoreFailure, expected) => {
    const store = ToldStore.failing();
    await using app = await open({ policies: { address: ADDRESS }, middleware: ['address'], store, onStoreFailure });
    const replies: Reply[] = [];
    for (let i = 0; i <= LIMIT; i++) replies.push(await app.send('/nothing'));
    expect(replies.map(({ status }) => status)).toEqual(expected);
    const { headers, body } = replies[0]!;
    expect(limitHeaders(replies[0]!)).toHaveLength(onStoreFailure === 'local' ? 3 : 0);
    if (onStoreFailure !== 'closed') return;
    expect(headers['retry-after']).toBe('1');
    expect(body).toMatchObject({ statusCode: 503, error: 'rate_limit_unavailable', retry_after: 1 });
  });

  it('lets requests wait for the slots of a leaky bucket, and answers 503 beyond maxWaiting', async () => {
    const queue: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/h', by: 'global' };
    await using app = await open({ store: new StillStore(), middleware: [queue], maxWaiting: 1 });
    const { waitingRoom } = app.app.get(RateLimitRuntime).parts;
    expect((await app.send('/nothing')).status).toBe(404);
    const client = connect(app.port, '127.0.0.1').on('error', () => undefined);
    client.write('GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n');
    while (waitingRoom.size < 1) await turn();
    expect((await app.send('/nothing')).status).toBe(503);
    client.destroy();
    while (waitingRoom.places > 0) await turn();
  });

  it('counts each pipelined request, with or without a route', async () => {
    const options = optionsWith({ policies: { address: { ...ADDRESS, capacity: 8 } } });
    await using app = await open(options);
    const kinds = ['GET /rides', 'GET /nothing', 'OPTIONS /rides', 'PROPFIND /rides', 'GET *rides'].map((line) =>
      request(line, line.startsWith('OPTIONS') ? PREFLIGHT : ''),
    );
    const answer = await exchange(app.port, kinds.join('').repeat(4) + last('GET /rides'));
    const slashless = platform === 'Fastify' ? SLASHLESS : 404;
    const passing = [200, 404, 204, 404, slashless, 200, 404, 204];
    expect(statuses(answer)).toEqual([...passing, ...Array<number>(13).fill(429)]);
    expect(headerOfEach(answer, 'X-RateLimit-Remaining').slice(0, 9).map(Number)).toEqual([7, 6, 5, 4, 3, 2, 1, 0, 0]);
    expect(options.store.asked).toHaveLength(21);
  });

  it('rejects with the status, the headers and the body of the guard', async () => {
    await using byMiddleware = await open(optionsWith());
    await using byGuard = await limited(platform, Again, optionsWith({ middleware: [] }));
    const replies = [];
    jest.spyOn(Date, 'now').mockReturnValue(1_700_000_000_000); // the reset is a second of the wall clock
    for (const app of [byMiddleware, byGuard]) {
      await app.crowd(LIMIT, '/again');
      const { status, headers, body } = await app.send('/again');
      delete headers.date;
      delete headers['access-control-allow-origin'];
      delete headers.vary;
      replies.push({ status, headers, body });
    }
    expect(replies[0]!.status).toBe(429);
    expect(replies[0]!.body).toEqual({
      statusCode: 429,
      error: 'rate_limit_exceeded',
      message: 'Too many requests, retry in 3600 seconds',
      retry_after: 3600,
      retry_after_ms: 3_600_000,
      policy: 'address',
    });
    expect(replies[0]).toEqual(replies[1]);
  });
});
