import { ThrottlerStorageService } from '@nestjs/throttler';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { PEER_LIMIT, PEER_WINDOW_S } from '../contestants.js';
import { distinctKeys, openLimiter, user } from '../floodgate.js';
import { measure, ratio } from '../measure.js';
import { decisionsTable, IN_PROCESS } from '../table.js';

const POLICIES = { bucket: { algorithm: 'token-bucket', capacity: 100_000_000, refill: '1000/h' } };
const PEERS = [rateLimiterMemory, throttlerMemory];

export const memoryStore = {
  ratios: ['memoryStore.throughput'],
  async run(bench) {
    const limiter = await openLimiter(bench, { policies: POLICIES });
    const ratios = [];
    const tables = [];
    for (const [keys, what] of [
      [10_000, '10,000 keys'],
      [1, 'one hot key'],
    ]) {
      const contestants = [distinctKeys(limiter, 'bucket', keys), ...PEERS.map((peer) => peer(keys))];
      const samples = await measure(contestants, { inFlight: 1, bench });
      const [ours, ...peers] = contestants.map(({ name }) => samples.get(name));
      ratios.push(...peers.map((theirs) => ratio(ours, theirs, 'throughput')));
      tables.push(decisionsTable(`In the process, without Redis: ${what}`, samples, 'Floodgate', IN_PROCESS));
    }
    return { ratios: { 'memoryStore.throughput': ratios.toSorted((a, b) => a.median - b.median)[0] }, tables };
  },
};

function users(keys) {
  return Array.from({ length: keys }, (_, i) => user(i));
}

function rateLimiterMemory(keys) {
  const limiter = new RateLimiterMemory({ points: PEER_LIMIT, duration: PEER_WINDOW_S });
  const names = users(keys);
  return {
    name: 'RateLimiterMemory',
    ask: (i) => limiter.consume(names[i % keys]),
    right: ({ consumedPoints }) => consumedPoints >= 1 && consumedPoints <= PEER_LIMIT,
  };
}

function throttlerMemory(keys) {
  const names = users(keys);
  const ttl = PEER_WINDOW_S * 1000;
  let storage;
  return {
    name: "throttler's memory storage",
    // It keeps and filters every hit of the window: a new one for each load, or the rounds would get slower and slower.
    before: () => {
      storage?.onApplicationShutdown();
      storage = new ThrottlerStorageService();
    },
    ask: (i) => storage.increment(names[i % keys], ttl, PEER_LIMIT, ttl, 'default'),
    right: ({ isBlocked, totalHits }) => isBlocked === false && totalHits >= 1,
  };
}
