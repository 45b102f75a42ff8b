import { make, makeSvg, say, shown } from './dom.js';
import { figure } from './lane-caption.js';
import { placed } from './lane-marks.js';

/** @typedef {import('../policy-state.js').DrawnNumbers} Numbers */
/** @typedef {import('../policy-state.js').PolicyState} State */
/** @typedef {import('./lane-caption.js').Part} Part */
/**
 * A policy's picture. `draw` gets the numbers in force, which change with plan and override. It returns its caption, whose second line is
 * empty while there is nothing to say, and in `full` how full it is, 0 to 1, for tests.
 *
 * @typedef {{ element: HTMLElement, draw: (state: State, now: number, numbers: Numbers) => Caption }} Picture
 * @typedef {{ strong: readonly Part[], more: readonly Part[], full: number }} Caption
 */
/** @template {State['algorithm']} A @typedef {Extract<State, { algorithm: A }>} StateOf */

/** @type {Readonly<Record<State['algorithm'], string>>} */
export const ALGORITHMS = {
  'token-bucket': 'Token bucket',
  'leaky-bucket': 'Leaky bucket',
  'fixed-window': 'Fixed window',
  'sliding-window-log': 'Sliding log',
  'sliding-window-counter': 'Sliding counter',
};

/** @type {Readonly<Record<State['algorithm'], () => Picture>>} */
const PICTURES = {
  'token-bucket': bucket,
  'leaky-bucket': queue,
  'fixed-window': fixedWindow,
  'sliding-window-log': log,
  'sliding-window-counter': counter,
};

/** @param {State['algorithm']} algorithm @returns {Picture} */
export function pictureOf(algorithm) {
  return PICTURES[algorithm]();
}

/** @param {HTMLElement} element @param {string} name @param {number} value 0 to 1 */
function share(element, name, value) {
  element.style.setProperty(name, `${(100 * Math.min(1, Math.max(0, value))).toFixed(2)}%`);
}

let buckets = 0;

/** A bucket of tokens that refills. @returns {Picture} */
function bucket() {
  const outline = 'M6 6 L13 58 Q13.5 62 18 62 H46 Q50.5 62 51 58 L58 6';
  const clip = `bucket-${++buckets}`;
  const level = makeSvg('rect', { class: 'level', x: 0, y: 6, width: 64, height: 60 });
  const svg = makeSvg(
    'svg',
    { viewBox: '0 0 64 66', class: 'bucket', 'aria-hidden': 'true' },
    makeSvg('clipPath', { id: clip }, makeSvg('path', { d: `${outline} Z` })),
    makeSvg('g', { 'clip-path': `url(#${clip})` }, level),
    makeSvg('path', { class: 'outline', d: outline }),
  );
  const element = make('div', 'picture');
  element.append(svg);
  return {
    element,
    draw: (state, now, { limit, perSecond }) => {
      const { fullAt } = /** @type {StateOf<'token-bucket'>} */ (state);
      const tokens = Math.max(0, limit - (Math.max(0, fullAt - now) / 1000) * perSecond);
      level.style.transform = `translateY(${(56 * (1 - tokens / limit)).toFixed(2)}px)`;
      return {
        strong: of(Math.floor(tokens), limit, 'tokens'),
        more: [`refills ${shown(perSecond)} per second`],
        full: tokens / limit,
      };
    },
  };
}

/** A queue that moves while requests wait. @returns {Picture} */
function queue() {
  const line = make('div', 'waiting');
  const element = make('div', 'picture queue', make('div', 'pipe', line), make('div', 'exit'));
  return {
    element,
    draw: (state, now, { limit, perSecond }) => {
      const { emptyAt } = /** @type {StateOf<'leaky-bucket'>} */ (state);
      const waiting = Math.min(limit, (Math.max(0, emptyAt - now) / 1000) * perSecond);
      share(line, '--share', waiting / limit);
      element.toggleAttribute('data-moving', waiting > 0);
      return {
        strong: of(Math.ceil(waiting), limit, 'places taken'),
        more: [`${shown(perSecond)} per second leave, evenly apart`],
        full: waiting / limit,
      };
    },
  };
}

/** A window that fills until the next one opens. @returns {Picture} */
function fixedWindow() {
  const fill = make('div', 'fill');
  const hand = make('div', 'hand');
  const element = make('div', 'picture track', make('div', 'window', fill), hand);
  return {
    element,
    draw: (state, now, { limit, windowMs }) => {
      const { endsAt, used: counted } = /** @type {StateOf<'fixed-window'>} */ (state);
      const over = now >= endsAt;
      const used = over ? 0 : counted;
      const left = over ? windowMs - ((now - endsAt) % windowMs) : endsAt - now;
      share(fill, '--share', used / limit);
      share(hand, '--at', 1 - left / windowMs);
      return {
        strong: of(used, limit, `in a window of ${shown(windowMs / 1000)} s`),
        more: used > 0 ? ['the next one opens in ', seconds(left, windowMs), ' s'] : [],
        full: used / limit,
      };
    },
  };
}

/** Marks of requests that move out of the window. @returns {Picture} */
function log() {
  const track = make('div', 'picture track log');
  return {
    element: track,
    draw: (state, now, { limit, windowMs }) => {
      const marks = /** @type {StateOf<'sliding-window-log'>} */ (state).marks.filter((mark) => mark > now - windowMs);
      const drawn = placed(marks, now, windowMs);
      while (track.children.length > drawn.length) track.lastElementChild?.remove();
      while (track.children.length < drawn.length) track.append(make('div', ''));
      for (const [i, { at, more }] of drawn.entries()) {
        const mark = /** @type {HTMLElement} */ (track.children[i]);
        mark.className = more > 0 ? 'more' : 'mark';
        say(mark, more > 0 ? `+${more}` : '');
        share(mark, '--at', at);
      }
      const oldest = marks[0];
      return {
        strong: of(marks.length, limit, `in the last ${shown(windowMs / 1000)} s`),
        more: oldest === undefined ? [] : ['the oldest leaves in ', seconds(oldest + windowMs - now, windowMs), ' s'],
        full: marks.length / limit,
      };
    },
  };
}

/** The counts of two windows, and a frame of one window's length that slides over them. @returns {Picture} */
function counter() {
  const bars = [make('div', 'count previous'), make('div', 'count current')];
  const frame = make('div', 'frame');
  const element = make('div', 'picture track counter', ...bars, frame);
  return {
    element,
    draw: (state, now, { limit, windowMs }) => {
      let { startedAt, previous, current } = /** @type {StateOf<'sliding-window-counter'>} */ (state);
      // Windows advance without new ticks, too.
      while (now >= startedAt + windowMs) {
        [previous, current] = [current, 0];
        startedAt += windowMs;
      }
      const elapsed = Math.max(0, now - startedAt) / windowMs;
      share(/** @type {HTMLElement} */ (bars[0]), '--share', previous / limit);
      share(/** @type {HTMLElement} */ (bars[1]), '--share', current / limit);
      share(frame, '--at', elapsed / 2);
      const used = Math.min(limit, current + Math.ceil(previous * (1 - elapsed)));
      return {
        strong: of(used, limit, `in about ${shown(windowMs / 1000)} s`),
        more:
          current + previous > 0
            ? [
                figure(shown(current), shown(limit)),
                ' in this window, ',
                figure(shown(100 * (1 - elapsed)), '100'),
                ' % of ',
                figure(shown(previous), shown(limit)),
                ' before',
              ]
            : [],
        full: used / limit,
      };
    },
  };
}

/** Such as “9 of 20 tokens”. @param {number} count @param {number} limit @param {string} unit @returns {Part[]} */
function of(count, limit, unit) {
  return [figure(shown(count), shown(limit)), ` of ${shown(limit)} ${unit}`];
}

/** @param {number} ms @param {number} widestMs */
function seconds(ms, widestMs) {
  return figure(shown(Math.ceil(Math.max(0, ms) / 1000)), shown(Math.ceil(widestMs / 1000)));
}
