import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { TlsRedis } from './tls.js';

jest.setTimeout(20_000); // it is real time, and the machine may be busy

let redis: TlsRedis;

beforeAll(async () => {
  redis = await TlsRedis.start();
});

afterAll(() => redis.stop());

/** The answer to PING, or the connection error. */
async function answer(options: RedisOptions): Promise<unknown> {
  const { host, port } = redis;
  const client = new Redis({
    host,
    port,
    retryStrategy: () => null,
    connectTimeout: 500,
    disconnectTimeout: 50,
    ...options,
  });
  let reason: unknown;
  client.on('error', (error: NodeJS.ErrnoException) => (reason ??= error.code ?? error.message));
  try {
    return await client.ping();
  } catch {
    return reason;
  } finally {
    client.disconnect();
  }
}

it('answers who trusts its CA', async () => {
  expect(await answer({ tls: { ca: redis.ca } })).toBe('PONG');
});

it('is not trusted by who trusts another CA, or those of the system', async () => {
  expect(await answer({ tls: { ca: redis.otherCa } })).toBe('SELF_SIGNED_CERT_IN_CHAIN');
  expect(await answer({ tls: {} })).toBe('SELF_SIGNED_CERT_IN_CHAIN');
});

it('is not trusted under a name that its certificate does not have', async () => {
  await using other = await TlsRedis.start({ name: 'DNS:redis.example' });
  const { port, ca } = other;
  expect(await answer({ port, tls: { ca } })).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await answer({ port, tls: { ca, servername: 'redis.example' } })).toBe('PONG');
});

it('has a plain port, where TLS gets no answer, nor does plain Redis on the other', async () => {
  const { port } = redis.server;
  expect(await answer({ port })).toBe('PONG');
  expect(await answer({ port, tls: { ca: redis.ca } })).toBe('ETIMEDOUT');
  expect(await answer({})).not.toBe('PONG');
});

it('comes back on both ports, and stops any number of times', async () => {
  await using other = await TlsRedis.start();
  const { port, ca, directory } = other;
  expect(existsSync(directory)).toBe(true);
  await other.server.restart();
  expect(await answer({ port, tls: { ca } })).toBe('PONG');
  await other.stop();
  await other.stop();
  expect(existsSync(directory)).toBe(false);
});
