import { END_SECONDS, REQUESTS, stateAt } from '../model/hero.js';
import { Picture, SETTLE_MS } from './picture.js';
import { Player } from './player.js';

/** @typedef {import('../model/hero.js').WorldState} WorldState */
/** @typedef {import('./picture.js').Colors} Colors */
/** @typedef {{ destroy(): void, seek(seconds: number): void, readonly duration: number }} Hero */

const SIDES = /** @type {const} */ ([
  ['without', 'Without limits'],
  ['within', 'With limits'],
]);

/** When the last dot lies in its place. */
const END = END_SECONDS + SETTLE_MS / 1000;

/** The figures of a side: name, what it means, and its text. */
const FIGURES = /** @type {const} */ ([
  ['failed', 'failed', (/** @type {WorldState} */ { failedShare }) => [String(Math.round(100 * failedShare)), '%']],
  ['wait', '99 % waited at most', (/** @type {WorldState} */ { waitMs }) => [seconds(waitMs), 's']],
  ['served', 'got a ride', (/** @type {WorldState} */ { served }) => [String(served), 'riders']],
]);

/** What the control room shows in red, too. */
const isBad = {
  failed: (/** @type {WorldState} */ { failedShare }) => failedShare >= 0.01,
  wait: (/** @type {WorldState} */ { waitMs }) => waitMs >= 1000,
  served: () => false,
};

/** @param {number} ms */
function seconds(ms) {
  return (ms / 1000).toFixed(ms < 995 ? 2 : 1);
}

/** The tokens of hero.css that a canvas needs. Rings are as thin as text. */
const COLORS = /** @type {const} */ ({
  served: '--fh-served',
  failed: '--fh-failed',
  servedText: '--fh-served-text',
  refused: '--fh-refused-text',
  failedText: '--fh-failed-text',
  ink: '--fh-ink',
  muted: '--fh-muted',
  line: '--fh-line',
  card: '--fh-card',
});

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} className
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className !== '') element.className = className;
  element.append(...children);
  return element;
}

/**
 * @param {Element} element
 * @param {string} text
 */
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Shows the rush in two worlds. It plays once when half of its picture comes into view. Its style sheet is hero.css, which the page loads.
 *
 * @param {HTMLElement} root an element of the page, which gets one child
 * @param {{ autoplay?: boolean }} [options] `autoplay`: whether it plays by itself; default true
 * @returns {Hero} `seek` stops at a second of the film, from 0 to `duration`
 */
export function mountHero(root, { autoplay = true } = {}) {
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const end = stateAt(END_SECONDS);
  const worlds = SIDES.map(([side, title]) => {
    const canvas = make('canvas', 'fh-canvas');
    canvas.setAttribute('aria-hidden', 'true');
    const values = FIGURES.map(([name, label, textOf]) => {
      const value = make('span', '');
      const unit = make('small', '');
      const shown = make('dd', 'fh-value', value, unit);
      return { name, textOf, value, unit, group: make('div', `fh-figure fh-${name}`, make('dt', '', label), shown) };
    });
    const figures = make('dl', 'fh-figures', ...values.map(({ group }) => group));
    const section = make('section', `fh-world fh-${side}`, make('h3', 'fh-title', title), canvas, figures);
    return { side, section, canvas, values, picture: new Picture(canvas, REQUESTS[side]) };
  });
  const button = make('button', 'fh-play');
  button.type = 'button';
  const scrubber = make('input', 'fh-scrubber');
  scrubber.type = 'range';
  scrubber.min = '0';
  scrubber.max = String(END);
  scrubber.step = '0.25';
  scrubber.setAttribute('aria-label', 'Time since the rush began');
  const table = tableOf(end);
  table.open = calm;
  const hero = make(
    'section',
    'fh',
    make('h2', 'fh-headline', 'More people get a ride, and the others know in milliseconds.'),
    make(
      'p',
      'fh-lead',
      'The same rush, twice. Each dot is one rider’s request: the higher it climbs, the longer the rider waits.',
    ),
    make('div', 'fh-worlds', ...worlds.map(({ section }) => section)),
    make('div', 'fh-bar', button, scrubber),
    table,
  );
  hero.setAttribute('aria-label', 'A rush without limits and with them');
  root.append(hero);

  /** @type {Colors | undefined} */
  let colors;
  const draw = () => {
    const { now, playing, ended } = player;
    colors ??= colorsOf(hero);
    const state = stateAt(now);
    for (const { side, picture, values } of worlds) {
      picture.draw(1000 * now, colors);
      for (const { name, textOf, value, unit, group } of values) {
        const [number, its] = textOf(state[side]);
        say(value, String(number));
        say(unit, ` ${its}`);
        group.toggleAttribute('data-bad', isBad[name](state[side]));
      }
    }
    say(button, playing ? 'Pause' : ended ? 'Replay' : 'Play');
    button.dataset['does'] = playing ? 'pause' : ended ? 'replay' : 'play';
    scrubber.value = String(now);
    scrubber.setAttribute('aria-valuetext', `${now.toFixed(1)} of ${END.toFixed(1)} seconds`);
  };
  const player = new Player(hero, {
    end: END,
    picture: autoplay && !calm ? worlds[0]?.canvas : undefined,
    changed: () => draw(),
  });
  if (calm) player.show(END);
  const recolor = () => {
    colors = undefined;
    draw();
  };
  const resized = new ResizeObserver(draw);
  for (const { canvas } of worlds) resized.observe(canvas);
  // The theme of a page is that of the system, or a class or an attribute of its root.
  const themed = new MutationObserver(recolor);
  themed.observe(document.documentElement, { attributes: true });
  const looks = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map((query) => matchMedia(query));
  for (const look of looks) look.addEventListener('change', recolor);
  // Text of a canvas stays in the font that was there when it was drawn.
  document.fonts.addEventListener('loadingdone', draw);
  button.addEventListener('click', () => (player.playing ? player.pause() : player.play()));
  scrubber.addEventListener('input', () => player.show(Number(scrubber.value)));
  draw();
  return {
    duration: player.duration,
    seek: (at) => player.seek(at),
    destroy() {
      player.destroy();
      resized.disconnect();
      themed.disconnect();
      for (const look of looks) look.removeEventListener('change', recolor);
      document.fonts.removeEventListener('loadingdone', draw);
      hero.remove();
    },
  };
}

/**
 * The end of the rush in words.
 *
 * @param {ReturnType<typeof stateAt>} end
 */
function tableOf(end) {
  const rows = [
    ...FIGURES.map(([, label, textOf]) => [label, ...SIDES.map(([side]) => textOf(end[side]).join(' '))]),
    ['told “not now” at once', ...SIDES.map(([side]) => `${end[side].refused} riders`)],
  ];
  const head = make('tr', '', make('td', ''), ...SIDES.map(([, title]) => header('col', title)));
  const body = rows.map(([label, ...cells]) =>
    make('tr', '', header('row', String(label)), ...cells.map((cell) => make('td', '', cell))),
  );
  const table = make('table', 'fh-table', make('thead', '', head), make('tbody', '', ...body));
  return make('details', 'fh-details', make('summary', '', 'The result as a table'), table);
}

/**
 * @param {'col' | 'row'} scope
 * @param {string} text
 */
function header(scope, text) {
  const element = make('th', '', text);
  element.scope = scope;
  return element;
}

/**
 * The tokens as the browser computes them, with `light-dark()` and fallbacks resolved.
 *
 * @param {HTMLElement} element
 * @returns {Colors}
 */
function colorsOf(element) {
  const probe = make('span', '');
  element.append(probe);
  const entries = Object.entries(COLORS).map(([name, token]) => {
    probe.style.color = `var(${token})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return { ...Object.fromEntries(entries), family: getComputedStyle(element).fontFamily };
}
