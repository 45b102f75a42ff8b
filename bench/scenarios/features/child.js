// Measures the contestants of one feature: started by support.js, which says which ones and in which order, and gets the samples or the
// error.
import { Redis } from 'ioredis';
import { late } from '../../floodgate.js';
import { Disturbed, measure } from '../../measure.js';
import { PLACES } from './support.js';

/** More and shorter rounds: contestants are close to each other. The process is new, so it warms up for longer than a round takes. */
function manyRounds(bench) {
  if (bench.smoke) return bench;
  return { ...bench, rounds: bench.rounds * 2, ms: bench.ms / 6, warmUpMs: (bench.ms * 2) / 3 };
}

process.on('disconnect', () => process.exit());
process.once('message', async ({ url, place, reversed, bench: given }) => {
  const admin = new Redis(given.url);
  const closing = [];
  const bench = manyRounds({ ...given, admin, onClose: (close) => closing.unshift(close) });
  let answer;
  try {
    const { contestants } = await import(url);
    await admin.flushall(); // of the process before this one, whose contestants have the same prefixes
    const where = PLACES[place];
    const all = await contestants(bench, where);
    const samples = await measure(reversed ? all.toReversed() : all, { inFlight: where.inFlight, bench });
    answer = { samples: [...samples] };
  } catch (error) {
    answer = { error: error.stack, isLate: late(error) || error instanceof Disturbed };
  }
  for (const close of closing) await close();
  admin.disconnect();
  process.send(answer, () => process.exit());
});
