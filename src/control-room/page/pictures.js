import { make, makeSvg, shown } from './dom.js';

/** @typedef {import('../policy-state.js').DrawnNumbers} Numbers */
/** @typedef {import('../policy-state.js').PolicyState} State */
/**
 * A policy's picture. `draw` gets the numbers in force, which change with plan and override. It returns its caption, and in `full` how
 * full it is, 0 to 1, for tests.
 *
 * @typedef {{ element: HTMLElement, draw: (state: State, now: number, numbers: Numbers) => Caption }} Picture
 * @typedef {{ strong: string, more: string, full: number }} Caption
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
        strong: `${shown(Math.floor(tokens))} of ${shown(limit)} tokens`,
        more: `refills ${shown(perSecond)} per second`,
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
        strong: `${shown(Math.ceil(waiting))} of ${shown(limit)} places taken`,
        more: `${shown(perSecond)} per second leave, evenly apart`,
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
        strong: `${shown(used)} of ${shown(limit)} used`,
        more: `the next window opens in ${seconds(left)}`,
        full: used / limit,
      };
    },
  };
}

/** Marks of requests that move out of the window. @returns {Picture} */
function log() {
  const track = make('div', 'picture track log');
  /** @type {HTMLElement[]} */
  const drawn = [];
  return {
    element: track,
    draw: (state, now, { limit, windowMs }) => {
      const marks = /** @type {StateOf<'sliding-window-log'>} */ (state).marks.filter((mark) => mark > now - windowMs);
      while (drawn.length > marks.length) drawn.pop()?.remove();
      while (drawn.length < marks.length) {
        const mark = make('div', 'mark');
        drawn.push(mark);
        track.append(mark);
      }
      for (const [i, mark] of marks.entries()) {
        share(/** @type {HTMLElement} */ (drawn[i]), '--at', 1 - Math.max(0, now - mark) / windowMs);
      }
      const oldest = marks[0];
      return {
        strong: `${marks.length} of ${shown(limit)} in the last ${seconds(windowMs)}`,
        more:
          oldest === undefined ? 'no marks in the window' : `the oldest leaves in ${seconds(oldest + windowMs - now)}`,
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
        strong: `${shown(used)} of ${shown(limit)} counted`,
        more: `${shown(current)} in this window, ${shown(100 * (1 - elapsed))} % of ${shown(previous)} before`,
        full: used / limit,
      };
    },
  };
}

/** @param {number} ms */
function seconds(ms) {
  return `${shown(Math.ceil(Math.max(0, ms) / 1000))} s`;
}
