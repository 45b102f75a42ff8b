// One contestant of memory-store.js in a process of its own. V8 compiles code for what it has seen: in one process, a contestant's
// figures would depend on which ones were measured before. Started by start-contestant.js: <name> <keys>; a message is a load's ms.
import { ThrottlerStorageService } from '@nestjs/throttler';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { PEER_LIMIT, PEER_WINDOW_S } from '../contestants.js';
import { distinctKeys, identities, openLimiter, passed, user } from '../floodgate.js';
import { CLOCK_EVERY, shown } from '../measure.js';

const POLICIES = { bucket: { algorithm: 'token-bucket', capacity: 100_000_000, refill: '1000/h' } };

/** By name: what `contestants.js` calls a contestant. `isSync`: its `ask` returns the answer itself. */
const CONTESTANTS = {
  consume: async (keys) => distinctKeys(await limiter(), 'bucket', keys),
  async consumeSync(keys) {
    const ours = await limiter();
    const clients = identities(keys);
    return { isSync: true, ask: (i) => ours.consumeSync('bucket', clients[i % keys]), right: passed };
  },
  async RateLimiterMemory(keys) {
    const peer = new RateLimiterMemory({ points: PEER_LIMIT, duration: PEER_WINDOW_S });
    const names = users(keys);
    return {
      ask: (i) => peer.consume(names[i % keys]),
      right: ({ consumedPoints }) => consumedPoints >= 1 && consumedPoints <= PEER_LIMIT,
    };
  },
  async throttler(keys) {
    const names = users(keys);
    const ttl = PEER_WINDOW_S * 1000;
    let storage;
    return {
      // It keeps and filters every hit of the window: a new one for each load, or the rounds would get slower and slower.
      before: () => {
        storage?.onApplicationShutdown();
        storage = new ThrottlerStorageService();
      },
      ask: (i) => storage.increment(names[i % keys], ttl, PEER_LIMIT, ttl, 'default'),
      right: ({ isBlocked, totalHits }) => isBlocked === false && totalHits >= 1,
    };
  },
};

function limiter() {
  return openLimiter({ onClose: () => {} }, { policies: POLICIES });
}

function users(keys) {
  return Array.from({ length: keys }, (_, i) => user(i));
}

/** The two ways to ask differ in `await` alone. */
async function askFor(ms, { ask, right }) {
  const deadline = performance.now() + ms;
  for (let i = 0; ; i++) {
    const answer = await ask(i);
    if (!right(answer)) throw new Error(`a wrong answer: ${shown(answer)}`);
    if (i % CLOCK_EVERY === 0 && performance.now() >= deadline) return i + 1;
  }
}

function askSyncFor(ms, { ask, right }) {
  const deadline = performance.now() + ms;
  for (let i = 0; ; i++) {
    const answer = ask(i);
    if (!right(answer)) throw new Error(`a wrong answer: ${shown(answer)}`);
    if (i % CLOCK_EVERY === 0 && performance.now() >= deadline) return i + 1;
  }
}

const [name, keys] = process.argv.slice(2);
const contestant = await CONTESTANTS[name](Number(keys));
process.on('disconnect', () => process.exit());
process.on('message', async (ms) => {
  contestant.before?.();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const decisions = await (contestant.isSync ? askSyncFor : askFor)(ms, contestant);
  const seconds = (performance.now() - start) / 1000;
  const { user: own, system } = process.cpuUsage(cpu);
  process.send({ decisions, throughput: decisions / seconds, node: (own + system) / decisions });
});
process.send('ready');
