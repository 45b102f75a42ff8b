import { shown, shownTime } from './dom.js';

/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgeTick} SurgeTick */
/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {import('../stage/surge-tick.js').PhaseFigures} PhaseFigures */
/** @typedef {import('../stage/surge-tick.js').Busyness} Busyness */
/** @typedef {import('../stage/surge-tick.js').SurgePhase} SurgePhase */
/** @typedef {import('../stage/surge-tick.js').WorldId} WorldId */
/** @typedef {Readonly<Record<WorldId, boolean | null | undefined>>} Limited whether each world had limits in the rush */

/** Fewer failures are noise: one connection that breaks. */
const SOME = 0.01;
/** A limit that refuses fewer is no news. */
const MANY = 0.03;
/** Others who use less than this of a core are not the reason. */
const OTHERS_FROM = 0.3;
/** From here on a person notices the wait, and loses the thread (J. Nielsen, "Response Times: The 3 Important Limits"). */
const LONG_MS = 1000;
const TIMES = ['', '', 'twice', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/**
 * A share of requests with its verb, such as `6 in 10 requests fail`, `1 in 10 requests fails` and `4 in 100 …` of less than a tenth.
 *
 * @param {number} share 0 to 1
 * @param {string} one what one of them does
 * @param {string} more what several of them do
 */
export function inTen(share, one, more) {
  if (share >= 0.95) return `${share === 1 ? 'All' : 'Nearly all'} requests ${more}`;
  if (share < 0.01) return `A few requests ${more}`;
  const base = share < 0.095 ? 100 : 10;
  const count = Math.round(base * share);
  return `${count} in ${base} requests ${count === 1 ? one : more}`;
}

/** @param {number} share 0 to 1 */
const fail = (share) => inTen(share, 'fails', 'fail');
/** @param {number} share 0 to 1 */
const toldNow = (share) => inTen(share, 'is told “not now”', 'are told “not now”');

/**
 * What happens in a world now.
 *
 * @param {Sample} sample
 * @param {Pick<SurgeDescription, 'capacity'>} surge
 */
export function captionOf({ served, refused, failed, p99Ms, waiting }, { capacity }) {
  const all = served + refused + failed;
  const queue = waiting === 1 ? '1 request waits' : `${shown(waiting)} requests wait`;
  if (all < 0.5) return waiting > 0 ? `${queue}, and the queue grows.` : 'The first requests are on their way.';
  const within = p99Ms === null ? '' : `, 99\u00A0% within ${shownTime(p99Ms)}`;
  const told = refused > 0 ? ` ${toldNow(refused / all)}.` : '';
  if (failed / all >= SOME) {
    const after = p99Ms === null ? '' : `, after up to ${shownTime(p99Ms)}`;
    const work = waiting > 0 ? ` ${queue}: ${shownTime((1000 * waiting) / capacity)} of work.` : '';
    return `${fail(failed / all)}${after}.${told}${work}`;
  }
  const some = failed > 0 ? ` ${fail(failed / all)}.` : '';
  if (refused / all >= MANY) {
    const others = served > 0 ? ` The others are served${within}.` : '';
    return `${toldNow(refused / all)}.${others}${some || ' None fails.'}`;
  }
  if (p99Ms !== null && p99Ms >= LONG_MS) {
    return `99\u00A0% of the requests are answered within ${shownTime(p99Ms)}.${some} ${queue}${failed > 0 ? '' : ', and none fails yet'}.`;
  }
  const most = refused + failed > 0 ? 'Nearly all requests' : 'All requests';
  return `${most} are served${within}.${told}${some}${waiting > 0 ? ` ${queue}.` : ''}`;
}

/**
 * What reaches the matching of a world now.
 *
 * @param {Pick<Sample, 'enforced' | 'redisAway'>} sample
 * @param {SurgeDescription} surge
 * @param {boolean | null | undefined} had whether the rush met limits; undefined: a part of it; null: there was no rush yet
 */
export function aboutOf({ enforced, redisAway }, surge, had) {
  const reach = reachOf(enforced, redisAway, surge);
  return had === null || had === enforced ? reach : `Limits are ${enforced ? 'on' : 'off'} now. ${reach}`;
}

/** @param {boolean} enforced @param {boolean} redisAway @param {SurgeDescription} surge */
function reachOf(enforced, redisAway, { limit, capacity }) {
  if (!enforced) return 'Every request reaches the service';
  if (redisAway) return `Redis is stopped: this process admits ${shown(limit)}/s`;
  const reach = `${shown(limit)} requests/s reach the service`;
  return limit > capacity ? `${reach}, which can do ${shown(capacity)}: too many` : reach;
}

/**
 * What happens now, in a sentence or two.
 *
 * @param {SurgeTick} tick
 * @param {SurgeDescription} surge
 * @param {Limited} limited
 */
export function stateOf(tick, surge, limited) {
  const { phase, problem, worlds, verdicts } = tick;
  const { demand, capacity } = surge;
  switch (phase) {
    case 'unavailable':
      return `${problem ?? 'The two services have ended'}. Try again: both services start anew.`;
    case 'surge':
      if (worlds?.left.sample.redisAway === true) return REDIS_STOPPED;
      return `A concert ends: riders send ${shown(demand)} requests/s and more to each service, which can do ${shown(capacity)}.${ridesNow(worlds)}`;
    case 'recovery':
      if (worlds?.left.sample.redisAway === true) return REDIS_STOPPED;
      if (worlds !== null && !worlds.left.sample.enforced) {
        return `The riders stay, and the left service still has no limits.${ridesNow(worlds)}`;
      }
      return `Both services have limits now. ${staleText(worlds?.left.sample.waiting ?? 0, surge)}`;
    case 'ending':
      return 'No more riders come. Some still wait for their answers.';
    default: {
      const rush = verdicts.find((verdict) => verdict.phase === 'surge');
      if (rush !== undefined) {
        const stopped = tick.stoppedAfterS === null ? '' : `Stopped after ${shown(tick.stoppedAfterS)} s. `;
        return stopped + (rush.busy === null ? sumOf(rush.worlds, limited) : busyText(rush.busy, surge.cores, 'then'));
      }
      return phase === 'ready'
        ? `For a minute, riders send ${shown(demand)} requests/s and more to each of two services, which can do ${shown(capacity)}.`
        : 'The two services are starting. If you press now, the rush begins when they are ready.';
    }
  }
}

const REDIS_STOPPED = 'Redis is stopped. Each process goes on with limits of its own.';

/** @param {SurgeTick['worlds']} worlds */
function ridesNow(worlds) {
  if (worlds === null) return '';
  const { left, right } = worlds;
  return ` Rides now: ${shown(left.sample.rides)}/s on the left, ${shown(right.sample.rides)}/s on the right.`;
}

/** @param {SurgePhase} phase */
export function isRunning(phase) {
  return phase === 'surge' || phase === 'recovery';
}

/**
 * What the rush came to, in rides.
 *
 * @param {Readonly<Record<WorldId, Pick<PhaseFigures, 'seconds' | 'rides'>>>} worlds
 * @param {Limited} limited
 */
export function sumOf({ left, right }, limited) {
  const rate = (/** @type {Pick<PhaseFigures, 'seconds' | 'rides'>} */ { seconds, rides }) =>
    rides.served / Math.max(1e-9, seconds);
  const [before, after] = [rate(left), rate(right)];
  const isProper = limited.left === false && limited.right === true;
  const [here, there] = isProper ? ['without limits', 'with limits'] : ['on the left', 'on the right'];
  const rates = `${shown(before)} ${shown(before) === '1' ? 'ride' : 'rides'}/s ${here} and ${shown(after)}/s ${there}`;
  const more = right.rides.served - left.rides.served;
  const refused = right.rides.refused;
  if (more <= 0 || refused === 0) return `${rates}.`;
  const no = refused === 1 ? 'once' : `${shown(refused)} times`;
  return `${rates}${timesOf(after / before)}. ${shown(more)} more ${more === 1 ? 'ride' : 'rides'}, by saying no ${no}.`;
}

/** Such as `: four times` and `: 2.4 times`; nothing of what is hardly more, or more than nothing. @param {number} ratio */
function timesOf(ratio) {
  const tenths = Math.round(10 * ratio) / 10;
  if (!Number.isFinite(ratio) || tenths < 1.1) return '';
  const word = TIMES[tenths];
  if (word === 'twice') return ': twice as many';
  return `: ${word ?? (tenths < 10 ? tenths.toFixed(1) : shown(ratio))} times as many`;
}

/**
 * Why a world that has its limits back is not fast yet.
 *
 * @param {number} waiting requests in matching's queue
 * @param {SurgeDescription} surge
 */
function staleText(waiting, { capacity, patienceMs }) {
  return (1000 * waiting) / capacity > patienceMs
    ? `On the left ${shown(waiting)} requests still wait, and most of their riders leave before their turn.`
    : 'The riders are as many as before, and the left service recovers.';
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
      : `${idleCpu.toFixed(1)} of ${cores} cores ${are} idle, and requests ${are} ${shownTime(lateP99Ms)} late`;
  return `This machine ${is} too busy: ${why}. Do not trust these figures.`;
}

/**
 * What the rush was for the riders of a world, in a sentence.
 *
 * @param {PhaseFigures} figures
 */
export function storyOf(figures) {
  const { sent, served, failed, refused, p99Ms, refusedP99Ms } = figures;
  if (sent === 0) return 'No rider asked for a ride.';
  const within = (/** @type {number | null} */ ms) => (ms === null ? '' : ` 99\u00A0% within ${shownTime(ms)}`);
  if (failed / sent >= SOME) return `${inTen(failed / sent, 'failed', 'failed')}${failuresOf(figures)}.`;
  const some = failed > 0 ? ` ${shown(failed)} failed.` : '';
  const told = refused > 0 ? inTen(refused / sent, 'was told “not now”', 'were told “not now”') : '';
  if (refused / sent >= MANY) {
    return `${told},${within(refusedP99Ms)}.${failed > 0 ? `${some} The others were served.` : ' All others were served.'}`;
  }
  const most = served === sent ? 'All requests' : 'Nearly all requests';
  return `${most} were served,${within(p99Ms)}.${told && ` ${told}.`}${some}`;
}

/**
 * Why requests failed, and after how long: a full queue fails them at once, and the others when their riders leave.
 *
 * @param {PhaseFigures} figures
 */
function failuresOf({ full, fullP99Ms, longestFailureMs }) {
  const after = longestFailureMs === null ? '' : `after up to ${shownTime(longestFailureMs)}`;
  if (fullP99Ms === null) return after && `, ${after}`;
  const soon = `: ${shown(full)} within ${shownTime(fullP99Ms)}, because the queue was full`;
  return after === '' ? soon : `${soon}, the others ${after}`;
}

/**
 * What the limits did for a world that got them after the rush.
 *
 * @param {PhaseFigures} figures
 */
export function recoveryOf({ recoveredAfterS }) {
  if (recoveredAfterS === null) return 'Limits on after the rush: not fast again in time';
  if (recoveredAfterS < 1) return 'Limits on after the rush: fast again at once';
  return `Limits on after the rush: fast again ${shown(Math.ceil(recoveredAfterS))} s later`;
}

/**
 * What limits a ride request here.
 *
 * @param {SurgeDescription} surge
 */
export function codeOf({ burst, limit }) {
  const perSecond = Number.isInteger(limit) ? `${limit}` : limit.toFixed(1);
  return `@Post('request')
@RateLimit(
  { name: 'rider', // each
    algorithm: 'token-bucket',
    capacity: 20, refill: 10 },
  { name: 'matching', // all
    algorithm: 'token-bucket',
    capacity: ${burst}, refill: ${perSecond},
    by: 'global' },
)
request() { … }`;
}
