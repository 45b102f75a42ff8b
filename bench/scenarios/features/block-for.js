import { identities, passed } from '../../floodgate.js';
import { verify } from '../../measure.js';
import { askingUsers, BUCKET, featureScenario, openOwn, openPeer } from './support.js';

const PLAIN = 'without blockFor';
const GUARDED = 'with blockFor';
const PEER = 'rate-limiter-flexible';
const BLOCK_S = 600;

const POLICIES = {
  plain: { bucket: BUCKET },
  guarded: {
    bucket: { ...BUCKET, blockFor: '10m' },
    proof: { algorithm: 'token-bucket', capacity: 1, refill: '1/h', blockFor: '10m' },
  },
};

/** What a policy with `blockFor` costs clients that it never rejects. */
export const blockFor = featureScenario({
  title: 'blockFor, nobody refused',
  url: import.meta.url,
  base: PLAIN,
  prices: { blockFor: GUARDED },
  peer: PEER,
});

export async function contestants(bench, place) {
  const plain = await openOwn(bench, place, POLICIES.plain);
  const guarded = await openOwn(bench, place, POLICIES.guarded);
  await proveBlock(guarded);
  await provePeersBlock(await openPeer(bench, place, { keyPrefix: 'proof', points: 1, blockDuration: BLOCK_S }));
  return [
    askingUsers(PLAIN, (user) => plain.consume('bucket', user)),
    askingUsers(GUARDED, (user) => guarded.consume('bucket', user)),
    await openPeer(bench, place, { name: PEER }),
    await openPeer(bench, place, { name: `${PEER}, blockDuration`, keyPrefix: 'block', blockDuration: BLOCK_S }),
  ];
}

/** The first request passes, the second one is rejected, and begins the block that the third one meets. */
async function proveBlock(limiter) {
  const [identity] = identities(1);
  const decisions = [];
  for (let i = 0; i < 3; i++) decisions.push(await limiter.consume('proof', identity));
  verify(
    passed(decisions[0]) && !decisions[1].allowed && decisions[2].policies[0].blockedForMs > 0,
    'no block has begun',
  );
}

/** The rejection sets the key's end to that of the block, in the place of the window's, which is an hour. */
async function provePeersBlock({ limiter, users: [key] }) {
  await limiter.consume(key);
  for (let i = 0; i < 2; i++) {
    const rejection = await limiter.consume(key).catch((error) => error);
    const { msBeforeNext } = rejection;
    verify(msBeforeNext > 0 && msBeforeNext <= BLOCK_S * 1000, `${PEER} has begun no block: ${msBeforeNext} ms`);
  }
}
