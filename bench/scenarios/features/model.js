import { verify } from '../../measure.js';
import { identities } from '../../floodgate.js';
import { askingUsers, BUCKET, featureScenario, openOwn } from './support.js';

const POLICIES = {
  requests: BUCKET,
  tokens: BUCKET,
  few: { algorithm: 'token-bucket', capacity: 1_000, refill: '1/d' },
};
const BODY = {
  model: 'pretend',
  max_tokens: 20,
  messages: [{ role: 'user', content: 'How long does a ride to the station take?' }],
};
const ANSWER = { usage: { prompt_tokens: 12, completion_tokens: 8, total_tokens: 20 } };
const BY_HAND = 'reserve and settle by hand';
const MODEL = 'limitModel';

/** What `limitModel` takes beside the two calls that it makes: it estimates the prompt, and reads the answer. */
export const model = featureScenario({
  title: 'Language models',
  url: import.meta.url,
  base: BY_HAND,
  prices: { model: MODEL },
});

export async function contestants(bench, place) {
  const { limitModel } = await import('floodgate/llm');
  const [plain, limited] = [await openOwn(bench, place, POLICIES), await openOwn(bench, place, POLICIES)];
  const chat = limitModel(limited, { requests: 'requests', tokens: 'tokens' });
  const [identity] = identities(1);
  await limitModel(limited, { tokens: 'few' })(identity, BODY, () => ANSWER);
  const { policies } = await limited.peek('few', identity);
  verify(policies[0].remaining === 980, `an answer of 20 tokens left ${policies[0].remaining} of 1,000`);
  const byHand = async (user) => {
    const reservation = await plain.reserve(['requests', 'tokens'], user, { cost: { tokens: 35 } });
    await reservation.settle({ tokens: ANSWER.usage.total_tokens });
    return reservation.decision;
  };
  const called = async (user) => (await chat(user, BODY, () => ANSWER)).decision;
  return [askingUsers(BY_HAND, byHand), askingUsers(MODEL, called)];
}
