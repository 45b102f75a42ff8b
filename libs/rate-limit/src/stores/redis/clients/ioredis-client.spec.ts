import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { OwnedClient, RedisConnection } from './client.js';
import { ConnectionError, isDisconnection } from './client-failure.js';
import { PingingConnector } from './connector.js';
import { givenIoredis, type IoredisClient, ownedIoredis } from './ioredis-client.js';

/** What ioredis has, of which the tests change parts. */
class FakeRedis extends EventEmitter {
  status = 'wait';
  stream: { bytesRead: number; destroy: () => void } | undefined;
  isCluster = false;
  options: object = { host: '10.0.0.1', port: 6379, keyPrefix: null };
  slots: readonly (readonly string[] | undefined)[] = [];
  known: FakeRedis[] = [];
  failure: Error | undefined;
  readonly calls: unknown[][] = [];

  nodes(): readonly FakeRedis[] {
    return this.known;
  }

  evalsha(...args: unknown[]): Promise<unknown> {
    return this.answer('evalsha', args);
  }

  eval(...args: unknown[]): Promise<unknown> {
    return this.answer('eval', args);
  }

  del(...args: unknown[]): Promise<unknown> {
    return this.answer('del', args);
  }

  connect(): Promise<unknown> {
    return this.answer('connect', []);
  }

  private async answer(name: string, args: unknown[]): Promise<unknown> {
    this.calls.push([name, ...args]);
    if (this.failure !== undefined) throw this.failure;
    return 1;
  }
}

let redis: FakeRedis;
const owned = (): OwnedClient => ownedIoredis(redis as unknown as IoredisClient);

beforeEach(() => {
  redis = new FakeRedis();
});

describe('a client of ioredis behind the port', () => {
  it.each([
    ['wait', 'closed'],
    ['reconnecting', 'closed'],
    ['close', 'closed'],
    ['connecting', 'connecting'],
    ['connect', 'connected'],
    ['ready', 'ready'],
    ['end', 'ended'],
  ])('is, with the status %s, %s', (status, state) => {
    redis.status = status;
    expect(owned().state).toBe(state);
  });

  it('tells each state in its order', () => {
    const told: string[] = [];
    owned().onState((state) => told.push(state));
    for (const event of ['connecting', 'connect', 'ready', 'close', 'reconnecting', 'end']) redis.emit(event);
    expect(told).toEqual(['connecting', 'connected', 'ready', 'closed', 'ended']);
  });

  it('sends programs with the same keys and arguments', async () => {
    await owned().runByHash('sha', 1, ['key', 'argument']);
    await owned().runByText('text', 2, ['key', 'other']);
    expect(redis.calls).toEqual([
      ['evalsha', 'sha', 1, 'key', 'argument'],
      ['eval', 'text', 2, 'key', 'other'],
    ]);
  });

  it("words ioredis's errors, and leaves what Redis replied", async () => {
    const errors: Error[] = [];
    const client = owned();
    client.onError((error) => errors.push(error));
    redis.failure = new Error('Connection is closed.');
    redis.emit('error', redis.failure);
    for (const call of [client.del('key'), client.connect()]) {
      await expect(call).rejects.toThrow('the connection to Redis is closed');
    }
    expect(errors).toEqual([expect.any(ConnectionError)]);
    expect(isDisconnection(errors[0]!)).toBe(true);
    const reply = Object.assign(new Error('NOPERM'), { name: 'ReplyError' });
    expect(client.failureOf(reply)).toBe(reply);
    expect(client.failureOf(undefined)).toBeInstanceOf(Error);
  });

  it('shows the socket, and whether a PING was answered before', () => {
    redis.stream = { bytesRead: 7, destroy: () => undefined };
    expect(owned()).toMatchObject({ socket: { bytesRead: 7 }, isProbed: true, firstAnswerMs: 0 });
    redis.options = { Connector: PingingConnector };
    expect(owned().isProbed).toBe(true);
    redis.options = { sentinels: [{ host: 'sentinel' }], Connector: PingingConnector };
    expect(owned().isProbed).toBe(false);
  });

  it.each([
    [{ options: { keyPrefix: 'shop:', db: 3 } }, { keyPrefix: 'shop:', database: 3 }],
    [{ options: {} }, { keyPrefix: '', database: 0 }],
    [{ isCluster: true, options: { db: 3 } }, { database: 0 }],
  ])('of %j has %j', (fake, expected) => {
    Object.assign(redis, fake);
    expect(owned()).toMatchObject(expected);
  });

  it('may have no more than three methods, if the application keeps it', async () => {
    const plain = { evalsha: async () => 1, eval: async () => 2, del: async () => 3 };
    const one = givenIoredis(plain);
    expect(one).toMatchObject({ keyPrefix: '', cluster: undefined });
    expect(await one.del('key')).toBe(3);
    const cluster = givenIoredis({ ...plain, isCluster: true });
    expect(cluster.cluster!.masterOf(7)).toBeUndefined();
    expect([...cluster.cluster!.masters()]).toEqual([]);
    expect(cluster.cluster!.connectionOf('10.0.0.1:6379')).toBeUndefined();
  });
});

describe('a Cluster of ioredis behind the port', () => {
  it('shows the nodes of the slots, and one connection for each node', () => {
    const node = new FakeRedis();
    Object.assign(redis, { isCluster: true, known: [node] });
    redis.slots = [['10.0.0.1:6379', '10.0.0.9:6379'], ['10.0.0.1:6379'], undefined, ['10.0.0.2:6379']];
    const cluster = owned().cluster!;
    expect([0, 1, 2, 3, 4].map((slot) => cluster.masterOf(slot))).toEqual([
      '10.0.0.1:6379',
      '10.0.0.1:6379',
      undefined,
      '10.0.0.2:6379',
      undefined,
    ]);
    expect([...cluster.masters()]).toEqual(['10.0.0.1:6379', '10.0.0.2:6379']);
    const added: RedisConnection[] = [];
    cluster.onConnection((connection) => added.push(connection));
    redis.emit('+node', node);
    expect(cluster.connectionOf('10.0.0.1:6379')).toBe(added[0]);
    expect(cluster.connectionOf('10.0.0.2:6379')).toBeUndefined();
    redis.known = [new FakeRedis()]; // the client has replaced it
    expect(cluster.connectionOf('10.0.0.1:6379')).not.toBe(added[0]);
  });

  it('tells when the slots were read', () => {
    let read = 0;
    redis.isCluster = true;
    owned().cluster!.onSlots(() => read++);
    redis.emit('refresh');
    expect(read).toBe(1);
  });
});
