import { identities, late } from '../../floodgate.js';
import { featureScenario, openOwn, openPeer } from './support.js';

/** Clients far over their limits: many, so that none reaches `MANY` rejections. */
const REFUSED = 1_000;
const MANY = 1_000_000;
const BLOCK_S = 600;
const EMPTY = { algorithm: 'token-bucket', capacity: 1, refill: '1/h' };
const PLAIN = 'without blockFor';
const BLOCKED = 'with blockFor';
const COUNTING = 'with blockFor and blockAfter, before the block';
const PEER = 'rate-limiter-flexible';

/** What a policy with `blockFor` costs clients that it rejects. Redis is hardly asked: its CPU is no figure. */
export const blockForRefused = featureScenario({
  title: 'blockFor, all refused',
  url: import.meta.url,
  base: PLAIN,
  figures: ['node'],
  prices: { blockForRefused: BLOCKED, blockAfter: COUNTING },
  peer: PEER,
});

export async function contestants(bench, place) {
  const users = identities(REFUSED);
  const contestant = async (name, options, isBlocked) => {
    const limiter = await openOwn(bench, place, { bucket: { ...EMPTY, ...options } });
    return {
      name,
      ask: (i) => limiter.consume('bucket', users[i % REFUSED]),
      right: (decision) =>
        decision.allowed === false && (decision.policies[0].blockedForMs !== undefined) === isBlocked,
      late,
    };
  };
  const all = [
    await contestant(PLAIN, {}, false),
    await contestant(BLOCKED, { blockFor: '10m' }, true),
    await contestant(COUNTING, { blockFor: '10m', blockAfter: MANY }, false),
    await refusing(bench, place, PEER, 'plain', {}),
    await refusing(bench, place, `${PEER}, blockDuration`, 'block', { blockDuration: BLOCK_S }),
    await refusing(bench, place, `${PEER}, blockDuration and inMemoryBlockOnConsumed`, 'inmem', {
      blockDuration: BLOCK_S,
      inMemoryBlockOnConsumed: 2,
      inMemoryBlockDuration: BLOCK_S,
    }),
  ];
  // The limit, and the rejection that begins the block.
  for (const { ask } of all) {
    for (let times = 0; times < 2; times++) await Promise.all(users.map((_, i) => ask(i).catch((error) => error)));
  }
  return all;
}

/** The peer rejects with a result that is no Error. In a block, its end is the block's, and not that of the hour's window. */
async function refusing(bench, place, name, keyPrefix, options) {
  const peer = await openPeer(bench, place, { name, keyPrefix, keys: REFUSED, points: 1, ...options });
  const atMostMs = options.blockDuration === undefined ? Infinity : options.blockDuration * 1000;
  return {
    ...peer,
    right: (answer) => !(answer instanceof Error) && answer.remainingPoints === 0 && answer.msBeforeNext <= atMostMs,
  };
}
