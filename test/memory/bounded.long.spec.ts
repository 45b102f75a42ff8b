import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RedisServer } from '../support/redis-server.js';
import { Processes } from '../support/processes.js';
import type { Heap } from './workers/heap.js';

jest.setTimeout(300_000); // each test collects garbage many times, on a machine that may be busy

const MB = 1_000_000;

describe('the memory of a process, measured in a separate process', () => {
  let heap: Processes<Heap>;

  beforeAll(async () => {
    heap = await Processes.start<Heap>(new URL('./workers/heap.ts', import.meta.url), 1);
  });

  afterAll(() => heap.stop());

  async function measured<N extends keyof Heap>(name: N, argument: Parameters<Heap[N]>[0]) {
    const [result] = await heap.all(name, () => argument as never);
    return result!;
  }

  it('keeps at most maxKeys of a million invented identities, and no blocked client passes', async () => {
    const { largest, size, overflowed, freed } = await measured('million', 50_000);
    expect(size).toBeLessThanOrEqual(50_000);
    expect(largest).toBeLessThan(50_000 * 750);
    expect(overflowed).toBeGreaterThan(100_000);
    expect(freed).toBe(0);
  });

  it('estimates the memory of states at once to twice their real size', async () => {
    const sizes = await measured('sizes', undefined);
    for (const { kind, measured: bytes, estimated } of sizes) {
      process.stderr.write(`${kind}: ${Math.round(bytes)} bytes, estimated ${Math.round(estimated)}\n`);
      expect({ kind, holds: estimated >= bytes && estimated <= 2 * bytes }).toEqual({ kind, holds: true });
    }
  });

  it.each(['store', 'denial cache'] as const)(
    'does not retain the headers that identities are cut from: %s',
    async (where) => {
      expect(await measured('headers', where)).toBeLessThan(1_500);
    },
  );

  it('caches the denials of 50,000 clients and no more', async () => {
    const { largest, cached } = await measured('denials', undefined);
    expect(cached).toBe(50_000);
    expect(largest).toBeLessThan(50_000 * 1_500);
  });

  it.each(['custom', 'plain client'] as const)(
    'does not retain requests that the store never answers: %s',
    async (store) => {
      const { tenth, all, asked, failed } = await measured('unanswered', store);
      expect(failed).toBe(asked);
      expect(tenth).toBeLessThan(1 * MB);
      expect(all).toBeLessThan(1 * MB);
    },
  );

  it('releases the requests of a call that the client never settles', async () => {
    const { all, calls } = await measured('unanswered', 'client that keeps its calls');
    expect(all / calls).toBeLessThan(16_000); // the arguments of 32 requests, and what they may have charged; 27 KB with all of them
  });

  it('releases the asynchronous context of requests that were decided, rejected or delayed', async () => {
    const pinned = await measured('pinned', undefined);
    expect(pinned).toEqual({ states: false, denials: false, waiting: false, timer: true }); // a timer pins its context
  });
});

describe('an own client of the application, while 100,000 requests come', () => {
  it.each([
    ['hangs', 'store'],
    ['hangs', 'redis'],
    ['is gone', 'store'],
    ['is gone', 'redis'],
  ] as const)('holds few of them, as Redis %s (option %s)', async (fault, by) => {
    await using server = await RedisServer.start();
    await using own = await Processes.start<Heap>(new URL('./workers/heap.ts', import.meta.url), 1);
    const { port, pid } = server;
    const [result] = await own.all('ownClient', () => ({ port, pid, fault, by }));
    process.stderr.write(`Redis ${fault}, ${by}: ${JSON.stringify(result)}\n`);
    expect(result!.decided).toBe(0); // otherwise nothing was measured
    expect(result!.tenth).toBeGreaterThan(1 * MB);
    expect(result!.all).toBeLessThan(50 * MB);
    expect(result!.refused).toBeGreaterThan(70_000);
    // The client was neither closed nor replaced, and the store uses Redis again without help.
    expect(result).toMatchObject(fault === 'hangs' ? { again: 1_000, status: 'ready' } : { again: 0 });
  });
});

describe('a process of 256 MB, in which a million identities fill a log of 1,000 entries each', () => {
  it.each([
    ['store', 80 * MB], // a quarter of the heap by default, and V8 counts a little more than the flag says
    ['fallback', 64 * MB],
  ] as const)('survives, admits no blocked client, and stays within its bound: %s', async (where, most) => {
    const script = new URL('./workers/heap.ts', import.meta.url);
    await using heap = await Processes.start<Heap>(script, 1, '--max-old-space-size=256');
    const [result] = await heap.all('logs', () => where);
    process.stderr.write(`${where}: ${JSON.stringify(result)}\n`);
    expect(result!.largest).toBeLessThan(most);
    expect(result!.freed).toBe(0);
    expect(result!.admitted).toBeGreaterThan(3_000); // otherwise the store was never full
  });
});
