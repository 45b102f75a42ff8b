import { byId, make, shown, shownShare, shownTime } from './dom.js';
import { FAILED_FROM, shownRides, SLOW_FROM_MS } from './tiles.js';
import { busyText, PHASES, storyOf } from './words.js';
import { TITLES } from './worlds.js';

/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').Verdict} Verdict */
/** @typedef {import('../stage/surge-tick.js').PhaseFigures} PhaseFigures */
/** @typedef {import('../stage/surge-tick.js').WorldId} WorldId */

/** A card for each phase that has ended. */
export class Verdicts {
  section = byId('verdicts');
  cards = /** @type {HTMLElement} */ (this.section.querySelector('.cards'));
  shown = '';

  /** @param {readonly Verdict[]} verdicts @param {SurgeDescription} surge @returns {string[]} sentences about verdicts that are new */
  show(verdicts, surge) {
    const text = JSON.stringify(verdicts);
    if (text === this.shown) return [];
    const before = this.cards.children.length;
    this.shown = text;
    this.section.hidden = verdicts.length === 0;
    this.cards.replaceChildren(...verdicts.map((verdict) => card(verdict, surge)));
    return verdicts.slice(before).map(spoken);
  }
}

/** @param {Verdict} verdict @param {SurgeDescription} surge */
function card({ phase, worlds, busy }, surge) {
  const { seconds, sent } = worlds.right;
  const rate = seconds > 0 ? `, ${shown(sent / seconds)} requests/s` : '';
  const element = make(
    'article',
    'card verdict',
    make('h3', '', PHASES[phase]),
    make('p', 'quiet', `${shown(seconds)} s${rate}`),
    make('div', 'sides', side('left', worlds.left, phase), side('right', worlds.right, phase)),
  );
  element.dataset['verdict'] = phase;
  if (busy !== null) element.append(make('p', 'notice', busyText(busy, surge.cores, 'then')));
  return element;
}

/** @param {WorldId} id @param {PhaseFigures} figures @param {Verdict['phase']} phase */
function side(id, figures, phase) {
  const { seconds, sent, failed, p99Ms, rides } = figures;
  const share = sent === 0 ? 0 : failed / sent;
  const number = (/** @type {string} */ title, /** @type {string} */ text, /** @type {boolean} */ bad) => {
    const element = make('div', 'number', make('dt', '', title), make('dd', '', text));
    element.toggleAttribute('data-bad', bad);
    return element;
  };
  const perSecond = rides / Math.max(1e-9, seconds);
  return make(
    'section',
    `side ${id}`,
    make('h4', '', titleOf(phase, id)),
    make(
      'dl',
      '',
      number('failed', sent === 0 ? '–' : shownShare(share), share >= FAILED_FROM),
      number('slowest answers (p99)', p99Ms === null ? '–' : shownTime(p99Ms), (p99Ms ?? 0) >= SLOW_FROM_MS),
      number('rides per second', shownRides(perSecond), false),
    ),
    make('p', 'story', storyOf(figures, phase === 'recovery' && id === 'left')),
  );
}

/** @param {Verdict} verdict */
function spoken({ phase, worlds }) {
  const recovers = phase === 'recovery';
  return `${PHASES[phase]} is over. ${titleOf(phase, 'left')}: ${storyOf(worlds.left, recovers)} ${titleOf(phase, 'right')}: ${storyOf(worlds.right, false)}`;
}

/** The world without limits has some from the recovery on. @param {Verdict['phase']} phase @param {WorldId} id */
function titleOf(phase, id) {
  return phase === 'recovery' && id === 'left' ? 'Limits switched on' : TITLES[id];
}
