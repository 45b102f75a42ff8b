import { shown, shownTime } from './dom.js';

/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgeTick} SurgeTick */
/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {import('../stage/surge-tick.js').PhaseFigures} PhaseFigures */
/** @typedef {import('../stage/surge-tick.js').Busyness} Busyness */
/** @typedef {import('../stage/surge-tick.js').RunPhase} RunPhase */

/** Fewer failures are noise: one connection that breaks. */
const SOME = 0.01;
/** A limit that refuses fewer is no news. */
const MANY = 0.03;
/** Others who use less than this of a core are not the reason. */
const OTHERS_FROM = 0.3;
/** From here on a person notices the wait, and loses the thread (J. Nielsen, "Response Times: The 3 Important Limits"). */
const LONG_MS = 1000;

/**
 * Such as `6 of 10`, and `4 of 100` of less than a tenth.
 *
 * @param {number} share 0 to 1
 */
export function ofTen(share) {
  if (share >= 0.95) return share > 0.995 ? 'All' : 'Nearly all';
  if (share < 0.095) return share < 0.01 ? 'A few' : `${Math.round(100 * share)} of 100`;
  return `${Math.round(10 * share)} of 10`;
}

/**
 * What a world's chart shows now, in a sentence.
 *
 * @param {Sample} sample
 * @param {SurgeDescription} surge
 */
export function captionOf({ served, refused, failed, p99Ms, enforced }, { patienceMs }) {
  const all = served + refused + failed;
  if (all < 0.5) return 'Nobody asks for a ride.';
  const wait = shownTime(Math.max(p99Ms ?? 0, patienceMs));
  if (failed / all >= SOME) {
    const error = `${ofTen(failed / all)} riders wait up to ${wait} and get an error`;
    if (refused / all >= MANY) return `${error}. ${ofTen(refused / all)} are turned away at once.`;
    return enforced ? `${error}.` : `${error}: more queue up than matching can serve.`;
  }
  const within = p99Ms === null ? '' : ` within ${shownTime(p99Ms)}`;
  if (refused / all >= MANY) {
    return `${ofTen(refused / all)} are told “not now” in milliseconds, so that the others are served${within}. Nobody gets an error.`;
  }
  if (p99Ms !== null && p99Ms >= LONG_MS) return `Nobody gets an error yet, but riders wait up to ${shownTime(p99Ms)}.`;
  return `Everybody is served${within}.`;
}

/**
 * What reaches the matching of a world.
 *
 * @param {boolean} enforced
 * @param {SurgeDescription} surge
 */
export function aboutOf(enforced, { limit, capacity }) {
  if (!enforced) return 'No limits: all requests reach matching';
  const reach = `Limits on: ${shown(limit)}/s reach matching`;
  return limit > capacity
    ? `${reach}, which serves only ${shown(capacity)}/s: this limit is too high to protect it`
    : reach;
}

/**
 * What happens now, in a sentence.
 *
 * @param {SurgeTick} tick
 * @param {SurgeDescription} surge
 */
export function stateOf(tick, surge) {
  const { phase, problem, worlds, verdicts } = tick;
  const { demand, capacity } = surge;
  const load = `${shown(demand)} requests/s for a matching that serves ${shown(capacity)}`;
  switch (phase) {
    case 'unavailable':
      return `The two worlds are unavailable: ${problem ?? 'their processes have ended'}.`;
    case 'calm':
      return 'A quiet evening: riders send half of what matching can serve.';
    case 'surge':
      return `The concert ends: ${load}.`;
    case 'recovery':
      return worlds !== null && !worlds.left.sample.enforced
        ? 'The crowd goes on, and one world still has no limits.'
        : `Limits are on in both worlds now. ${staleText(worlds?.left.sample.waiting ?? 0, surge)}`;
    case 'ending':
      return 'The crowd has gone home. Some riders still wait for their answers.';
    default: {
      const last = verdicts.find((verdict) => verdict.phase === 'surge');
      if (last !== undefined) {
        if (last.busy !== null) return busyText(last.busy, surge.cores, 'then');
        const { left, right } = last.worlds;
        return `In the surge ${failedOf(left)} failed without limits, and ${failedOf(right)} failed with them.`;
      }
      // No longer than the other sentences, so that nothing below moves.
      return `A concert ends: ${load}. ${phase === 'ready' ? 'Both worlds get the same riders.' : 'Both worlds start …'}`;
    }
  }
}

/**
 * Why a world that has its limits back is not fast yet.
 *
 * @param {number} waiting requests in matching's queue
 * @param {SurgeDescription} surge
 */
function staleText(waiting, { capacity, patienceMs }) {
  return (1000 * waiting) / capacity > patienceMs
    ? `But ${shown(waiting)} requests still wait in the first world, most of whose riders leave before a worker is free.`
    : 'The crowd is the same, and the first world recovers.';
}

/** @param {PhaseFigures} figures */
function failedOf({ failed, sent }) {
  if (sent === 0 || failed === 0) return 'none';
  const percent = Math.round((100 * failed) / sent);
  return percent === 0 ? `${shown(failed)} of ${shown(sent)} requests` : `${percent} of 100 requests`;
}

/**
 * Why the figures cannot be trusted.
 *
 * @param {Busyness} busy
 * @param {number} cores of the machine
 * @param {'now' | 'then'} when
 */
export function busyText({ othersCpu, idleCpu, lateP99Ms }, cores, when) {
  const [is, use, are] = when === 'now' ? ['is', 'use', 'are'] : ['was', 'used', 'were'];
  const why =
    othersCpu >= OTHERS_FROM
      ? `other processes ${use} ${othersCpu.toFixed(1)} of ${cores} cores`
      : `${idleCpu.toFixed(1)} of ${cores} cores ${are} idle, and requests ${shownTime(lateP99Ms)} late`;
  return `This machine ${is} too busy: ${why}. Do not trust these figures.`;
}

/** @type {Readonly<Record<RunPhase, string>>} */
export const PHASES = { calm: 'Quiet evening', surge: 'The concert ends', recovery: 'Limits on in both' };

/**
 * What a phase was for the riders of a world, in a sentence.
 *
 * @param {PhaseFigures} figures
 * @param {boolean} recovers whether the world's limits were switched on at the begin of this phase
 */
export function storyOf(figures, recovers) {
  const { sent, failed, refused, p99Ms, refusedMedianMs, recoveredAfterS } = figures;
  if (sent === 0) return 'Nobody asked for a ride.';
  if (recovers) {
    return recoveredAfterS === null
      ? 'It had not recovered when the run ended.'
      : recoveredAfterS < 1
        ? 'Within a second it was fast again, and stayed so.'
        : `${shown(Math.ceil(recoveredAfterS))} s after the switch it was fast again, and stayed so. Until then matching worked for riders who had left: a limit protects before the queue fills.`;
  }
  const wait = p99Ms === null ? '' : shownTime(p99Ms);
  if (failed / sent >= SOME) return `${ofTen(failed / sent)} riders waited up to ${wait} for nothing but an error.`;
  if (refused / sent >= MANY) {
    const soon = refusedMedianMs === null ? 'at once' : `within ${shownTime(refusedMedianMs)}`;
    return `${ofTen(refused / sent)} were told “not now” ${soon}. All others were served.`;
  }
  return `Everybody was served, 99 of 100 within ${wait}.`;
}
