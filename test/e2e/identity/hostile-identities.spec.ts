import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitRequest } from 'nestjs-floodgate';
import { FROM_HEADERS, left, limited, PLATFORMS, type SendOptions } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';

const BUCKET: Policy = { name: 'bucket', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };

@Controller()
class Routes {
  @Get('client')
  @RateLimit(BUCKET)
  client(): void {}

  @Get('query')
  @RateLimit({
    ...BUCKET,
    by: ({ query }: RateLimitRequest<{ query: { id?: string } }>) => ({
      kind: 'user',
      value: query.id ?? '',
    }),
  })
  query(): void {}
}

/** No two of these values may share a bucket, and none may act as a part of a key. `identity-keys.spec.ts` proves it of any text. */
const HOSTILE = [
  'ada',
  'ADA',
  '}{ada',
  '}:route:default:tb:1/60000000',
  'a:b',
  'a%3Ab',
  '#47DEQpj8HBSa-_TImW-5J',
  '__proto__',
  'ip:127.0.0.1',
  '\u00e4',
  '\u00c3\u00a4', // the UTF-8 bytes of the letter above, as a header carries them
  'y'.repeat(10_000),
  `${'y'.repeat(9_999)}z`,
];

/** More values, which only a query string can carry. */
const UNPRINTABLE = [
  '\r\n',
  'ada\nX-RateLimit-Limit: 1000000',
  'ada\0',
  '\u007f',
  '\u20ac',
  '\u0100',
  '\ud83d\ude00',
  'a\u0308',
];

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

describe.each(PLATFORMS)('over %s, hostile identities', (platform) => {
  const asHeader = (value: string): [string, SendOptions] => ['/client', { headers: { 'X-User-Id': value } }];
  const asKey = (value: string): [string, SendOptions] => ['/client', { headers: { 'X-API-Key': value } }];
  const asQuery = (value: string): [string] => [`/query?id=${encodeURIComponent(value)}`];

  it.each<[string, readonly string[], (value: string) => [string, SendOptions?]]>([
    ['user headers', distinct(HOSTILE), asHeader],
    ['API keys', distinct(HOSTILE), asKey],
    ['values of a by function', distinct([...HOSTILE, ...UNPRINTABLE]), asQuery],
  ])('have one bucket each, which no other value shares: %s', async (_, values, request) => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store, identity: FROM_HEADERS });
    for (const expected of [2, 1, 0]) {
      for (const value of values) {
        const reply = await app.send(...request(value));
        expect([value.slice(0, 40), reply.status, left(reply)]).toEqual([value.slice(0, 40), 200, expected]);
      }
    }
    for (const value of values) expect((await app.send(...request(value))).status).toBe(429);
    expect(store.keys).toHaveLength(values.length);
    for (const key of store.keys) {
      expect(Buffer.byteLength(key)).toBeLessThanOrEqual(200);
      expect(key).toMatch(/^rl:\{(user|key):[^{}:]*\}:GET \/(client|query):bucket:tb:3@1\/3600000000$/);
    }
    expect(app.logs.of('error')).toEqual([]);
  });

  it('that are empty count as missing, so the address is counted', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Routes, { store, identity: FROM_HEADERS });
    const empty: SendOptions['headers'][] = [{}, { 'X-User-Id': '' }, { 'X-API-Key': '' }, { 'X-User-Id': ' \t' }];
    for (const headers of empty) await app.send('/client', { headers });
    await app.send(...asQuery(''));
    expect(store.keys).toEqual([
      'rl:{ip:127.0.0.1}:GET /client:bucket:tb:3@1/3600000000',
      'rl:{ip:127.0.0.1}:GET /query:bucket:tb:3@1/3600000000',
    ]);
  });
});

describe.each(PLATFORMS)('over %s, API keys', (platform) => {
  const SECRET = 'sk_live_4242-SECRET';
  const redis = useRedis();

  @Controller()
  class Keyed {
    @Get()
    @RateLimit(
      { ...BUCKET, name: 'client' },
      { ...BUCKET, name: 'key', by: 'api-key' },
      { ...BUCKET, name: 'own', by: (): { kind: string; value: string } => ({ kind: 'api-key', value: SECRET }) },
    )
    get(): void {}

    @Get('broken')
    @RateLimit(() => 'no such policy')
    broken(): void {}
  }

  it('never appear in Redis, logs, bodies or headers', async () => {
    await using app = await limited(platform, Keyed as Type, {
      identity: FROM_HEADERS,
      redis: redis.server.url,
      deadline: 2_000,
    });
    const options: SendOptions = { headers: { 'X-API-Key': SECRET } };
    const replies = [];
    for (const path of ['/', '/', '/', '/', '/broken']) replies.push(await app.send(path, options));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 429, 500]);

    const keys = await redis.client.keys('*');
    expect(keys).toHaveLength(3);
    const stored = await redis.client.mget(keys);
    await redis.server.stop();
    replies.push(await app.send('/', options)); // also while the store fails
    await redis.server.restart();

    const everything = [
      ...keys,
      ...stored,
      app.logs.text,
      ...replies.map(({ text, headers }) => text + JSON.stringify(headers)),
    ];
    expect(everything.join('\n')).not.toContain(SECRET);
    expect(everything.join('\n')).not.toContain(Buffer.from(SECRET).toString('base64url').slice(0, 12));
    for (const key of keys) expect(key).toMatch(/^rl:\{key:#[\w-]{22}\}:/);
  });
});
