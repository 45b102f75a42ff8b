import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import type { Algorithm } from '../../../libs/floodgate/src/algorithms/core/algorithm.js';
import { WaitingRoom } from '../../../libs/floodgate/src/holds/waiting/waiting-room.js';
import { Deadlines } from '../../../libs/floodgate/src/stores/deadlines.js';
import { Fallback } from '../../../libs/floodgate/src/engine/fallback.js';
import type { PolicyCharge } from '../../../libs/floodgate/src/charges/policy-charge.js';
import { bindPolicy } from '../../../libs/floodgate/src/policy/bound-policy.js';
import { parsePolicy } from '../../../libs/floodgate/src/policy/parse-policy.js';
import { MemoryStore } from '../../../libs/floodgate/src/stores/memory/memory.store.js';
import type { RedisClient } from '../../../libs/floodgate/src/stores/redis/clients/redis-client.js';
import { wasStoreAsked } from '../../../libs/floodgate/src/stores/unavailable.js';
import { LoadedRedisStore } from '../../../libs/floodgate/src/stores/redis/loaded-redis-store.js';
import { readStoreOptions } from '../../../libs/floodgate/src/stores/redis/store-options.js';
import { DenialCache } from '../../../libs/floodgate/src/layers/denials/denial-cache.js';
import { withinDeadline } from '../../../libs/floodgate/src/layers/deadline/deadline.js';
import { traitsOf } from '../../../libs/floodgate/src/stores/traits.js';
import type { Charge } from '../../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../../support/algorithm-of.js';
import { LONG } from '../../support/long.js';
import { answerCalls } from '../../../demo/processes/answer-calls.js';

// One process measures everything, since each would load the library anew: that is why the file is long.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const ORIGIN = 19_900 * 86_400_000_000;

const ALGORITHMS = ALL_ALGORITHMS.map((name) => algorithmOf(SMALL_POLICIES[name]));

/** A charge on a key like that of a real identity. Each key is a separate string. */
function chargeOf(i: number, name = 'client'): [Charge] {
  const algorithm = ALGORITHMS[i % ALGORITHMS.length]!;
  return [{ key: `rl:{user:${name}-${i}}:GET /somewhere:${algorithm.name}:x:x`, algorithm, cost: 1 }];
}

const LOG = { algorithm: 'sliding-window-log', limit: 1_000, window: '1d' } as const;

/** The live bytes on the heap and in buffers. */
function retained(): number {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Whether garbage collection frees the object given to `hold`, while the result of `hold` is alive. */
async function isPinned(hold: (request: AsyncLocalStorage<object>) => unknown): Promise<boolean> {
  const storage = new AsyncLocalStorage<object>();
  let held: unknown;
  const context = (() => {
    const object = { body: 'x'.repeat(1_000) };
    storage.run(object, () => (held = hold(storage)));
    return new WeakRef(object);
  })();
  for (let i = 0; i < 5; i++) await turn();
  collect();
  return context.deref() !== undefined && held !== undefined;
}

/** A Redis process, what happens to it, and the option of the module by which the application gives its client. */
interface OwnClient {
  readonly port: number;
  readonly pid: number;
  readonly fault: 'hangs' | 'is gone';
  readonly by: 'redis' | 'store';
}

const procedures = {
  /** A million identities, most of them with one request. Meanwhile 100 blocked clients keep sending requests. */
  million: (maxKeys: number) => {
    let now = ORIGIN;
    const store = new MemoryStore({ maxKeys, clock: () => now });
    const before = retained();
    const day = algorithmOf({ algorithm: 'sliding-window-log', limit: 3, window: '1d' });
    const blocked = (i: number): Charge[] => [
      { key: `rl:{user:blocked-${i}}:POST /login:d:x`, algorithm: day, cost: 1 },
    ];
    for (let i = 0; i < 300; i++) store.consume(blocked(i % 100));
    let largest = 0;
    let freed = 0;
    for (let i = 0; i < 1_000_000; i++) {
      now += 10; // 100,000 a second
      const charge = i % 2 === 0 ? [{ ...chargeOf(i, 'invented')[0], algorithm: day }] : chargeOf(i, 'invented');
      store.consume(charge);
      if (i % 100 === 0 && store.consume(blocked((i / 100) % 100)).allowed) freed++;
      if (i % 200_000 === 199_999) largest = Math.max(largest, retained() - before);
    }
    return { largest, size: store.size, overflowed: store.overflowed, freed };
  },

  /**
   * A million identities fill a log of 1,000 entries each, in the store or in the fallback of an outage. Returns the peak of live
   * bytes, and how many of 100 clients that were blocked before passed.
   */
  logs: (where: 'store' | 'fallback') => {
    let now = ORIGIN;
    const clock = (): number => now;
    const policy = bindPolicy(parsePolicy(LOG, 'test'), 'rl', 'app', 'test');
    const store = new MemoryStore({ clock });
    const fallback = new Fallback({ onStoreFailure: 'local', localShare: 1, fallbackMaxBytes: 64_000_000 }, clock);
    const unavailable = new Error('unavailable');
    const passes = (key: string, cost: number): boolean => {
      const charges: PolicyCharge[] = [
        {
          key,
          algorithm: policy.algorithm,
          cost,
          headroom: 0,
          mode: 'take',
          shadow: false,
          alternative: false,
          identity: key,
          policyKey: ':x',
          policy,
        },
      ];
      return (where === 'store' ? store.consume(charges) : fallback.decide(charges, unavailable)).allowed;
    };
    const before = retained();
    let [largest, freed, admitted] = [0, 0, 0];
    for (let i = 0; i < 100; i++) passes(`rl:{user:blocked-${i}}:x`, 1_000);
    for (let i = 0; i < 1_000_000; i++) {
      now += 200; // 5,000 a second, so that the first identities are idle after a while
      if (passes(`rl:{user:invented-${i}}:x`, 1_000)) admitted++;
      if (i % 1_000 === 0) for (let j = 0; j < 100; j++) if (passes(`rl:{user:blocked-${j}}:x`, 1)) freed++;
      if (i % 100_000 === 99_999) largest = Math.max(largest, retained() - before);
    }
    return { largest, freed, admitted };
  },

  /** The memory of states of each kind, measured and estimated. */
  sizes: () => {
    const kinds: [string, Algorithm, count: number, charges: number, cost: number][] = ALGORITHMS.map((algorithm) => [
      algorithm.name,
      algorithm,
      66_000, // just beyond a power of two the table is at its emptiest
      1,
      1,
    ]);
    const log = algorithmOf(LOG);
    for (const charges of [10, 64, 100, 333, 1_000]) kinds.push([`log of ${charges}`, log, 3_000, charges, 1]);
    kinds.push(['log at once', log, 3_000, 1, 1_000]);
    const hour = algorithmOf({ ...LOG, window: '1h' });
    kinds.push(['log of 1,000 that goes round', hour, 300, 3_000, 1]);
    return kinds.map(([kind, algorithm, count, charges, cost]) => {
      let now = ORIGIN;
      const store = new MemoryStore({ clock: () => now, maxBytes: 2 ** 40 });
      const before = retained();
      for (let n = 0; n < charges; n++) {
        for (let i = 0; i < count; i++) {
          store.consume([{ key: `rl:{user:client-${i}}:GET /somewhere:${kind}`, algorithm, cost }]);
        }
        now += charges > 1_000 ? 4_000_000 : 1;
      }
      const measured = (retained() - before) / store.size;
      return { kind, measured, estimated: store.bytes / store.size };
    });
  },

  /** The bytes left by each of 10,000 identities that are substrings of headers of 8,000 characters. */
  headers: (where: 'store' | 'denial cache') => {
    const store = new MemoryStore({ clock: () => ORIGIN });
    const denials = new DenialCache(10_000, () => 0);
    const before = retained();
    for (let i = 0; i < 10_000; i++) {
      const header = Buffer.alloc(8_000, `Bearer ${i}, a client, `).toString('latin1');
      const [charge] = chargeOf(i, header.slice(0, 30));
      if (where === 'store') store.consume([charge]);
      else {
        const charges = [{ ...charge, cost: charge.algorithm.maxCost + 1 }];
        denials.note(charges, store.consume(charges), 0);
      }
    }
    const bytes = (retained() - before) / 10_000;
    if (store.size < 0 || denials.findSent([]) !== undefined) return 0; // keeps them alive until here
    return bytes;
  },

  /** A million rejected identities. */
  denials: () => {
    const store = new MemoryStore({ clock: () => ORIGIN });
    const denials = new DenialCache(10_000, () => 0);
    const before = retained();
    let [largest, cached] = [0, 0];
    for (let i = 0; i < 1_000_000; i++) {
      const [charge] = chargeOf(i);
      const charges = [{ ...charge, cost: charge.algorithm.maxCost + 1 }];
      denials.note(charges, store.consume(charges), 0);
      if (i % 200_000 === 199_999) largest = Math.max(largest, retained() - before);
    }
    for (let i = 900_000; i < 1_000_000; i++) {
      const [charge] = chargeOf(i);
      if (denials.findSent([{ ...charge, cost: charge.algorithm.maxCost + 1 }])) cached++;
    }
    return { largest, cached };
  },

  /** Many requests that the store never answers. Returns the bytes left by a tenth of them, and by the others. */
  unanswered: async (store: 'custom' | 'plain client' | 'client that keeps its calls') => {
    const deadlines = new Deadlines(5);
    const kept: unknown[] = [];
    const never = (): Promise<never> =>
      new Promise((resolve) => void (store === 'client that keeps its calls' && kept.push(resolve)));
    const client = { evalsha: never, eval: never, del: never };
    const custom = { consume: never, reset: () => undefined };
    const ownTime = store !== 'custom';
    const asked = ownTime ? new LoadedRedisStore(client, readStoreOptions({}), { deadlines }) : custom;
    const decider = withinDeadline(asked, traitsOf(asked), deadlines, () => undefined);
    let failed = 0;
    const crowd = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 1_000) {
        const answers = Array.from({ length: 1_000 }, async (_, j) => decider.decide({ charges: chargeOf(i + j) }));
        failed += (await Promise.allSettled(answers)).filter(({ status }) => status === 'rejected').length;
      }
    };
    await crowd(10_000); // warms up
    const before = retained();
    const count = LONG ? 1_000_000 : 200_000;
    await crowd(count / 10);
    const tenth = retained() - before;
    await crowd((count * 9) / 10);
    return { tenth, all: retained() - before, asked: count + 10_000, failed, calls: kept.length };
  },

  /**
   * 100,000 requests to a Redis that hangs, or is gone, by a client of the application with the defaults of ioredis. Returns the bytes
   * that are left of the first tenth and of all, how many requests were decided, and how many were refused unasked; of a Redis
   * that hangs also how many of 1,000 it decides once it goes on.
   */
  ownClient: async ({ port, pid, fault, by }: OwnClient) => {
    const client = new Redis({ port, host: '127.0.0.1' });
    client.on('error', () => undefined);
    const deadlines = new Deadlines(20);
    const plain: RedisClient = {
      evalsha: (...args) => client.evalsha(...args),
      eval: (...args) => client.eval(...args),
      del: (key) => client.del(key),
    };
    const settings = readStoreOptions({});
    const store =
      by === 'redis' ? new LoadedRedisStore(plain, settings, { deadlines }) : new LoadedRedisStore(client, settings);
    const decider = withinDeadline(store, traitsOf(store), deadlines, () => undefined);
    let refused = 0;
    const crowd = async (count: number): Promise<number> => {
      let decided = 0;
      for (let i = 0; i < count; i += 1_000) {
        const answers = Array.from({ length: 1_000 }, async (_, j) => decider.decide({ charges: chargeOf(i + j) }));
        for (const answer of await Promise.allSettled(answers)) {
          if (answer.status === 'fulfilled') decided++;
          else if (!wasStoreAsked(answer.reason)) refused++;
        }
        await turn(); // so that the client's connection is served, too
      }
      return decided;
    };
    await crowd(10_000); // warms up
    const before = retained();
    process.kill(pid, fault === 'hangs' ? 'SIGSTOP' : 'SIGKILL');
    let decided = await crowd(10_000);
    const tenth = retained() - before;
    decided += await crowd(90_000);
    const all = retained() - before;
    let again = 0;
    if (fault === 'hangs') {
      process.kill(pid, 'SIGCONT');
      for (let i = 0; i < 200 && again < 1_000; i++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        again = await crowd(1_000);
      }
    }
    const { status } = client;
    client.disconnect();
    return { decided, refused, tenth, all, again, status };
  },

  /** The parts that keep the asynchronous context of a request. */
  pinned: async () => {
    const room = new WaitingRoom({ maxWaiting: 10, maxWaitingPerClient: 10 });
    const states = await isPinned(() => {
      const store = new MemoryStore();
      for (let i = 0; i < 100; i++) store.consume(chargeOf(i));
      return store;
    });
    const denials = await isPinned(() => {
      const [store, cache] = [new MemoryStore(), new DenialCache(1000)];
      for (let i = 0; i < 100; i++) cache.note(chargeOf(0), store.consume(chargeOf(0)), performance.now());
      return [store, cache];
    });
    const waiting = await isPinned(() => {
      const wait = room.wait(3_600_000);
      room.close();
      wait.catch(() => {});
      return room;
    });
    const timer = await isPinned(() => setTimeout(() => {}, 3_600_000).unref());
    return { states, denials, waiting, timer };
  },
};

export type Heap = typeof procedures;

answerCalls(procedures);
