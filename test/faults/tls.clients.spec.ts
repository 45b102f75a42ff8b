import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RedisOptions } from 'ioredis';
import { Pod } from '../support/faults/pod.js';
import { TlsRedis } from '../support/faults/tls.js';

let redis: TlsRedis;
let named: TlsRedis;

beforeAll(async () => {
  [redis, named] = await Promise.all([TlsRedis.start(), TlsRedis.start({ name: 'DNS:redis.example' })]);
});

afterAll(async () => {
  await Promise.all([redis.stop(), named.stop()]);
});

const target = ({ host, port }: TlsRedis, tls?: RedisOptions['tls']): RedisOptions => ({
  host,
  port,
  ...(tls && { tls }),
});

describe('a Redis behind TLS', () => {
  it.each<[string, () => RedisOptions]>([
    ['its CA is trusted', () => target(redis, { ca: redis.ca })],
    ['its name is another, and said', () => target(named, { ca: named.ca, servername: 'redis.example' })],
  ])('decides when %s', async (_, options) => {
    await using pod = await Pod.start({ redis: options(), deadline: 10_000 });
    expect((await pod.ask()).decidedBy).toBe('store');
    expect(pod.app.logs.of('warn')).toEqual([]);
  });

  it.each<[string, () => RedisOptions, RegExp]>([
    ['another CA is trusted', () => target(redis, { ca: redis.otherCa }), /self-signed certificate/],
    ['its certificate is for another name', () => target(named, { ca: named.ca }), /altnames/],
    ['it is spoken to without TLS', () => target(redis), /ECONNRESET|closed|no answer/i],
  ])('is unavailable, and the log says why, when %s', async (_, options, reason) => {
    await using pod = await Pod.start({ redis: options() });
    expect((await pod.ask()).decidedBy).toBe('local');
    // A process that starts without Redis also says that it knows no overrides.
    const warnings = pod.app.logs.of('warn').filter((text) => !text.startsWith('No overrides are in force'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(reason);
    expect(pod.app.logs.of('error')).toEqual([]);
  });
});
