import { startContestant } from '../in-process/start-contestant.js';
import { finely, inTurn, ratio } from '../measure.js';
import { decisionsTable, IN_PROCESS } from '../table.js';

const OURS = ['consume', 'consumeSync'];
const PEERS = ['RateLimiterMemory', 'throttler'];

/** Decisions without Redis. Each contestant has a process of its own, and one is asked at a time. */
export const memoryStore = {
  ratios: ['memoryStore.throughput', 'memoryStore.sync'],
  async run(bench) {
    const ratios = { consume: [], consumeSync: [] };
    const tables = [];
    for (const [keys, what] of [
      [10_000, '10,000 keys'],
      [1, 'one hot key'],
    ]) {
      const contestants = [];
      for (const name of [...OURS, ...PEERS]) contestants.push(await startContestant(bench, name, keys));
      const samples = await inTurn(contestants, finely(bench), (contestant, ms) => contestant.load(ms));
      for (const ours of OURS) {
        for (const peer of PEERS) ratios[ours].push(ratio(samples.get(ours), samples.get(peer), 'throughput'));
      }
      tables.push(decisionsTable(`In the process, without Redis: ${what}`, samples, 'consume', IN_PROCESS));
    }
    return {
      ratios: { 'memoryStore.throughput': lowest(ratios.consume), 'memoryStore.sync': lowest(ratios.consumeSync) },
      tables,
    };
  },
};

function lowest(ratios) {
  return ratios.toSorted((a, b) => a.median - b.median)[0];
}
