import { shown, shownShare, shownTime } from './dom.js';

/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgeTick} SurgeTick */
/** @typedef {import('../stage/surge-tick.js').Sample} Sample */
/** @typedef {import('../stage/surge-tick.js').Kind} Kind */
/** @typedef {import('../stage/surge-tick.js').Kinds} Kinds */
/** @typedef {import('../stage/surge-tick.js').PhaseFigures} PhaseFigures */
/** @typedef {import('../stage/surge-tick.js').Busyness} Busyness */
/** @typedef {import('../stage/surge-tick.js').SurgePhase} SurgePhase */
/** @typedef {import('../stage/surge-tick.js').WorldId} WorldId */

/** Fewer failures are noise: one connection that breaks. */
const SOME = 0.01;
/** A limit that refuses fewer is no news. */
const MANY = 0.03;
/** Others who use less than this of a core are not the reason. */
const OTHERS_FROM = 0.3;
/** From here on a person notices the wait, and loses the thread (J. Nielsen, "Response Times: The 3 Important Limits"). */
const LONG_MS = 1000;

/**
 * A share with its verb, such as `6 in 10 get an error`, `1 in 10 is turned away` and `4 in 100 …` of less than a tenth.
 *
 * @param {number} share 0 to 1
 * @param {string} one what one of them does
 * @param {string} more what several of them do
 */
export function inTen(share, one, more) {
  if (share >= 0.95) return `${share === 1 ? 'All' : 'Nearly all'} ${more}`;
  if (share < 0.01) return `A few ${more}`;
  const base = share < 0.095 ? 100 : 10;
  const count = Math.round(base * share);
  return `${count} in ${base} ${count === 1 ? one : more}`;
}

/**
 * What a world's chart shows now, in a sentence.
 *
 * @param {Sample} sample
 */
export function captionOf({ served, refused, failed, p99Ms, waiting }) {
  const all = served + refused + failed;
  const queue = waiting === 1 ? '1 request waits' : `${shown(waiting)} requests wait`;
  if (all < 0.5) return waiting > 0 ? `${queue}, and the queue grows.` : 'The first requests are on their way.';
  const within = p99Ms === null ? '' : `, 99\u00A0% within ${shownTime(p99Ms)}`;
  const turned = refused > 0 ? inTen(refused / all, 'is turned away', 'are turned away') : '';
  if (failed / all >= SOME) {
    const after = p99Ms === null ? '' : ` after up to ${shownTime(p99Ms)}`;
    return [`${inTen(failed / all, 'gets an error', 'get an error')}${after}.`, turned && `${turned}.`, `${queue}.`]
      .filter(Boolean)
      .join(' ');
  }
  const errors = failed > 0 ? 'A few get an error' : 'Nobody gets an error';
  if (refused / all >= MANY) {
    const others = served > 0 ? ` The others are served${within}.` : '';
    return `${turned}.${others} ${errors}.`;
  }
  if (p99Ms !== null && p99Ms >= LONG_MS) {
    return `99 % are answered within ${shownTime(p99Ms)}. ${queue}. ${errors}${failed > 0 ? '' : ' yet'}.`;
  }
  const most = refused + failed > 0 ? 'Nearly everybody' : 'Everybody';
  const few = failed > 0 ? ` ${errors}.` : turned && ` ${turned}.`;
  return `${most} is served${within}.${few}${waiting > 0 ? ` ${queue}.` : ''}`;
}

/**
 * What part of the rides and of the estimates was served, such as `Rides: 31 % served. Estimates: 9 %.`
 *
 * @param {Kinds | undefined} kinds undefined: no requests
 */
export function kindsOf(kinds) {
  if (kinds === undefined) return '\u00A0';
  const part = (/** @type {Kind} */ kind) => (kind.answered === 0 ? '–' : shownShare(kind.served / kind.answered));
  return `Rides: ${part(kinds.rides)} served. Estimates: ${part(kinds.estimates)}.`;
}

/**
 * What reaches the matching of a world.
 *
 * @param {Pick<Sample, 'enforced' | 'redisAway'>} sample
 * @param {SurgeDescription} surge
 */
export function aboutOf({ enforced, redisAway }, surge) {
  if (!enforced) return 'Bypassed: every request reaches the service';
  return redisAway ? `Redis is stopped: this process admits ${shown(surge.limit)}/s` : reachOf(surge);
}

/** @param {SurgeDescription} surge */
function reachOf({ limit, capacity }) {
  const reach = `${shown(limit)} requests/s reach the service`;
  return limit > capacity ? `${reach}, which can handle ${shown(capacity)}: too many` : reach;
}

/**
 * That the numbers of a world are those of the rush, and whether its limits have been switched since.
 *
 * @param {boolean | undefined} had whether the rush met limits; undefined: a part of it
 * @param {boolean} enforced now
 * @param {SurgeDescription} surge
 */
export function rushOf(had, enforced, surge) {
  if (had === undefined) return 'The rush.';
  if (had !== enforced) return `The rush. Since then the limits are ${enforced ? 'on' : 'off'}.`;
  return `The rush: ${had ? reachOf(surge) : 'every request reaches the service'}`;
}

/**
 * What happens now, in a sentence.
 *
 * @param {SurgeTick} tick
 * @param {SurgeDescription} surge
 * @param {Readonly<Record<WorldId, number>> | null} [rates] requests per second that were really sent to each world
 */
export function stateOf(tick, surge, rates = null) {
  const { phase, problem, worlds, verdicts } = tick;
  const { demand, capacity } = surge;
  const wish = `riders want ${shown(demand)} requests/s of a service that can handle ${shown(capacity)}`;
  const redis =
    isRunning(phase) && worlds?.left.sample.redisAway === true
      ? ' Redis is stopped: limits go on in each process.'
      : '';
  switch (phase) {
    case 'unavailable':
      return `The two processes are unavailable: ${problem ?? 'they have ended'}.`;
    case 'surge':
      if (redis !== '') return `A concert ends.${redis}`;
      return rates === null
        ? `A concert ends: ${wish}.`
        : `A concert ends: ${shown(rates.left)} requests/s hit the left service and ${shown(rates.right)} the right one, retries included. Each can handle ${shown(capacity)}.`;
    case 'recovery':
      if (redis !== '') return `The crowd goes on.${redis}`;
      return worlds !== null && !worlds.left.sample.enforced
        ? 'The crowd goes on, and one world still has no limits.'
        : `Limits are on in both worlds now. ${staleText(worlds?.left.sample.waiting ?? 0, surge)}`;
    case 'ending':
      return 'The crowd has gone home. Some riders still wait for their answers.';
    default: {
      const last = verdicts.find((verdict) => verdict.phase === 'surge');
      if (last !== undefined) {
        const stopped = tick.stoppedAfterS === null ? '' : `Stopped after ${shown(tick.stoppedAfterS)} s. `;
        if (last.busy !== null) return stopped + busyText(last.busy, surge.cores, 'then');
        const { left, right } = last.worlds;
        return `${stopped}In the rush ${failedOf(left)} failed on the left, and ${failedOf(right)} failed on the right.`;
      }
      return phase === 'ready'
        ? `In the rush ${wish}, twice: left and right.`
        : 'Two processes of the demo start. You can press already.';
    }
  }
}

/** @param {SurgePhase} phase */
export function isRunning(phase) {
  return phase === 'surge' || phase === 'recovery';
}

/**
 * Why a world that has its limits back is not fast yet.
 *
 * @param {number} waiting requests in matching's queue
 * @param {SurgeDescription} surge
 */
function staleText(waiting, { capacity, patienceMs }) {
  return (1000 * waiting) / capacity > patienceMs
    ? `But ${shown(waiting)} requests still wait on the left, most of whose riders leave before a worker is free.`
    : 'The crowd is the same, and the left one recovers.';
}

/** @param {PhaseFigures} figures */
function failedOf({ failed, sent }) {
  if (sent === 0 || failed === 0) return 'none';
  const percent = Math.round((100 * failed) / sent);
  return percent === 0 ? `${shown(failed)} of ${shown(sent)} requests` : `${percent} in 100 requests`;
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

/**
 * What the rush was for the riders of a world, in a sentence.
 *
 * @param {PhaseFigures} figures
 */
export function storyOf(figures) {
  const { sent, served, failed, refused, p99Ms, refusedP99Ms } = figures;
  if (sent === 0) return 'Nobody asked for a ride.';
  const within = (/** @type {number | null} */ ms) => (ms === null ? '' : `99\u00A0% within ${shownTime(ms)}`);
  if (failed / sent >= SOME) {
    return `${inTen(failed / sent, 'requests', 'requests')} got an error${failuresOf(figures)}.`;
  }
  const errors = failed > 0 ? ` ${shown(failed)} failed.` : '';
  if (refused / sent >= MANY) {
    const told = `${inTen(refused / sent, 'was told', 'were told')} “not now” (${within(refusedP99Ms)}).`;
    return failed > 0 ? `${told}${errors} The others were served.` : `${told} All others were served.`;
  }
  const told = refused > 0 ? ` ${shown(refused)} were told “not now”.` : '';
  return `${served === sent ? 'Everybody was' : 'Nearly all were'} served, ${within(p99Ms)}.${told}${errors}`;
}

/**
 * Why requests failed, and after how long: a full queue fails them at once, and the others when their riders leave.
 *
 * @param {PhaseFigures} figures
 */
function failuresOf({ failed, full, fullP99Ms, longestFailureMs }) {
  const after = longestFailureMs === null ? '' : `after up to ${shownTime(longestFailureMs)}`;
  if (fullP99Ms === null) return after && `, ${after}`;
  // The time is that of 99 % of them.
  const soon = `: ${inTen((0.99 * full) / failed, 'of those', 'of those').toLowerCase()} within ${shownTime(fullP99Ms)}, as the queue was full`;
  return after === '' ? soon : `${soon}, the others ${after}`;
}

/**
 * What the limits did for the left world after the rush.
 *
 * @param {PhaseFigures} left
 */
export function recoveryOf({ recoveredAfterS }) {
  if (recoveredAfterS === null) return 'The left world had not recovered when the run ended.';
  if (recoveredAfterS < 1) return 'Within a second of the switch the left world was fast again, and stayed so.';
  return `${shown(Math.ceil(recoveredAfterS))} s after the switch the left world was fast again, and stayed so. Until then it worked for riders who had left: limit before the queue fills.`;
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
