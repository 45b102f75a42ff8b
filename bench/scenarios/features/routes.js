import { askHttp, openHttp } from '../../http/contestant.js';
import { verify } from '../../measure.js';
import { featureScenario, HTTP_USERS } from './support.js';

const PLAIN = 'one policy';
const PLANNED = 'of plan pro, from the cache';
const TWO = 'two policies';
const GUARDED = 'blockFor';
const SHEDDING = 'shed, below its threshold';
const THROTTLER = 'throttler';

const ASKED_AT_MOST = 50;

const hasLimit = (limit) => {
  const header = new RegExp(`\nx-ratelimit-limit: ${limit}\r`, 'i');
  return (head) => header.test(head);
};
const isLimited = hasLimit('\\d+');
const hasBoth = (head) => /\nx-ratelimit-limit-one: 1000000000\r[^]*\nx-ratelimit-limit-two: 500000000\r/i.test(head);

/** The requests of the policy, or of both where the two have as many. */
const requests = (names) => (stats) => {
  const counts = names.map((name) => stats.policies.find(({ policy }) => policy === name)?.requests ?? 0);
  return new Set(counts).size === 1 ? counts[0] : NaN;
};
/** One question to the resolver for each user, or its answers are not cached. */
const lookUps = ({ plans: { cache, resolver } }) => (resolver <= HTTP_USERS ? cache + resolver : NaN);

/** What features of the same plain route cost, and those of the peer's. */
export const routes = featureScenario({
  title: 'Routes',
  prove: (bench) => Promise.all(['blocking', 'throttlerBlocking'].map((variant) => proveHttpBlock(bench, variant))),
  http: {
    variants: [
      { name: PLAIN, variant: 'first', isRight: hasLimit(1_000_000), counted: requests(['first']) },
      { name: PLANNED, variant: 'pro', isRight: hasLimit(2_000_000), counted: lookUps },
      { name: TWO, variant: 'firstAndOther', isRight: isLimited, counted: requests(['first', 'other']) },
      { name: GUARDED, variant: 'blocking', isRight: isLimited, counted: requests(['first']) },
      { name: SHEDDING, variant: 'shedding', isRight: hasLimit(1_000_000), counted: requests(['first']) },
      { name: THROTTLER, variant: 'throttler', isRight: isLimited },
      { name: `${THROTTLER}, two named throttlers`, variant: 'throttlers', isRight: hasBoth },
      { name: `${THROTTLER}, blockDuration`, variant: 'throttlerBlocking', isRight: isLimited },
    ],
    base: PLAIN,
    prices: { plans: PLANNED, secondPolicy: TWO, blockFor: GUARDED, shed: SHEDDING },
    peer: THROTTLER,
  },
});

/** A limit of one request that is back within a second: only a block rejects the request after that. */
async function proveHttpBlock(bench, variant) {
  const { server } = await openHttp(bench, 'fastify', { name: variant, variant, limit: '1' });
  const statuses = [];
  // A busy machine may miss the deadline (503), and the limit may be back before the second request.
  const askUntil = async (isEnough) => {
    for (let i = 0; i < ASKED_AT_MOST; i++) {
      statuses.push(await askHttp(server));
      if (isEnough(statuses.at(-1))) return;
    }
  };
  await askUntil((status) => status === 429);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  await askUntil((status) => status !== 503);
  await server.stop();
  const [first, ...others] = statuses.filter((status) => status !== 503);
  verify(first === 200 && others.slice(-2).join() === '429,429', `${variant} has begun no block: ${statuses.join()}`);
}
