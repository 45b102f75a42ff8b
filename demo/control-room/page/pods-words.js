/** @typedef {import('../pods/pods-tick.js').Counting} Counting */
/** @typedef {import('../pods/pods-tick.js').PodsDescription} PodsDescription */
/** @typedef {import('../pods/pods-tick.js').PodsResult} PodsResult */
/** @typedef {import('../pods/pods-tick.js').PodsTick} PodsTick */

/** @type {Readonly<Record<Counting, string>>} */
const TITLES = { alone: 'No shared store', together: 'One Redis', outage: 'Redis stopped' };

/** @param {Counting} counting @param {boolean} inMemory */
export function titleOf(counting, inMemory) {
  return inMemory
    ? TITLES[counting].replace('One Redis', 'One store').replace('Redis stopped', 'The store stopped')
    : TITLES[counting];
}

/** @param {PodsResult} result */
export function headline({ passed, sent }) {
  return `${passed} of ${sent} passed`;
}

/** How often the limit passed, without what refilled. @param {PodsResult} result @param {PodsDescription} facts */
export function verdict({ passed, refilled, failed, counting, decidedByShare, sent }, { limit }) {
  const counted = passed - refilled;
  if (failed === sent) return 'no pod answered';
  if (counting === 'outage' && decidedByShare < sent - failed) {
    return `the store stopped or started meanwhile${counted > limit ? ': more than the limit' : ''}`;
  }
  if (counted === limit) return 'the limit';
  if (counted < limit) return 'below the limit';
  const times = counted / limit;
  const word = { 2: 'twice', 3: 'three times' }[times] ?? `${times.toFixed(1)} times`;
  return `${word} the limit`;
}

/** What each pod passed. @param {PodsResult} result */
export function details({ pods, refilled, failed }) {
  const each = pods.map(({ passed }) => passed).join(' + ');
  return [each, refilled > 0 && `${refilled} refilled`, failed > 0 && `${failed} without an answer`]
    .filter(Boolean)
    .join(', ');
}

/** What decides now, in a sentence. @param {PodsTick | null} tick @param {boolean} together @param {PodsDescription} facts */
export function sentence(tick, together, { pods, limit, share }) {
  if (tick === null) return 'Waiting for the first figures.';
  const { phase, problem, store } = tick;
  if (phase === 'asleep') return 'Three processes start with the first press, in a few seconds.';
  if (phase === 'starting') return 'Three processes start, each with its own connections…';
  if (phase === 'unavailable') return `The pods are not available: ${problem ?? 'they did not start'}.`;
  const name = store.kind === 'redis' ? 'Redis' : 'The store';
  const where =
    store.kind === 'redis'
      ? 'The pods are three processes.'
      : `The pods are three applications in one process: ${store.problem ?? 'no Redis'}.`;
  if (!together) {
    return store.isUp
      ? `${where} Each counts in its own memory, so three pods admit three limits.`
      : `${where} ${name} is stopped, and pods without a shared store do not notice.`;
  }
  if (!store.isUp) {
    return `${name} is stopped. Each pod admits its share, ${share} of ${limit} (localShare: ${pods}): ${pods * share} in all, and no error.`;
  }
  if (tick.pods.some(({ counting }) => counting === 'outage'))
    return `${name} is back, and empty. The pods find it by themselves.`;
  return store.kind === 'redis'
    ? `${where} All count in one Redis, which this page has started.`
    : `${where} All count in one store in its memory.`;
}
