import { AXES, beginOf, captionOf, END_SECONDS, rushOf, SETTINGS, stateAt } from '../model/hero.js';
import { make, say } from '../../palette/elements.js';
import { colorsOf } from './colors.js';
import { Picture, SETTLE_MS } from './picture.js';
import { Player } from './player.js';
import { FIGURES, Tally } from './tally.js';

/** @typedef {import('../model/hero.js').WorldState} WorldState */
/** @typedef {import('./picture.js').Colors} Colors */
/** @typedef {{ destroy(): void, seek(seconds: number): void, readonly duration: number }} Hero */

const SIDES = /** @type {const} */ ([
  ['without', 'Without a limit'],
  ['within', 'With a limit'],
]);

/** When the last dot lies in its place. */
const END = END_SECONDS + SETTLE_MS / 1000;

/** What the visitor sets: name, label, lowest and highest value. */
const SLIDERS = /** @type {const} */ ([
  ['demand', 'Riders', 10, 140],
  ['limit', 'The limit', 5, 100],
]);

/**
 * Shows the rush in two worlds. It plays once when half of its picture comes into view. Its style sheet is hero.css, which the page loads.
 *
 * @param {HTMLElement} root an element of the page, which gets one child
 * @param {{ autoplay?: boolean }} [options] `autoplay`: whether it plays by itself; default true
 * @returns {Hero} `seek` stops at a second of the film, from 0 to `duration`
 */
export function mountHero(root, { autoplay = true } = {}) {
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  let settings = SETTINGS;
  let rushes = rushOf(settings);
  const begin = beginOf(rushes);
  const worlds = SIDES.map(([side, title]) => {
    const canvas = make('canvas', 'fh-canvas');
    canvas.setAttribute('aria-hidden', 'true');
    const tally = new Tally();
    const heading = make('h3', 'fh-title', title);
    const section = make('section', `fh-world fh-${side}`, heading, canvas, tally.bar, tally.figures);
    const picture = new Picture(canvas, AXES);
    picture.show(rushes[side]);
    return { side, section, canvas, tally, picture };
  });
  const caption = make('p', 'fh-caption');
  const sliders = SLIDERS.map(([name, label, min, max]) => {
    const input = sliderOf(min, max, 1);
    const shown = make('output', '');
    input.value = String(settings[name]);
    return { name, input, shown, field: make('label', 'fh-setting', make('span', '', label), input, shown) };
  });
  const button = make('button', 'fh-play');
  button.type = 'button';
  const scrubber = sliderOf(0, END, 0.25);
  scrubber.classList.add('fh-scrubber');
  scrubber.setAttribute('aria-label', 'Time since the rush began');
  const table = make('details', 'fh-details', make('summary', '', 'The result as a table'));
  table.open = calm;
  const hero = make(
    'section',
    'fh',
    make('h2', 'fh-headline', 'More people get a ride, and the others know in milliseconds.'),
    make(
      'p',
      'fh-lead',
      'A concert ends, and everybody asks for a ride: the same rush, twice. A limit lets so many requests a second through, and tells the rest “not now” at once. Each dot is a request: the higher it climbs, the longer its rider waits.',
    ),
    make('div', 'fh-worlds', ...worlds.map(({ section }) => section)),
    caption,
    make('div', 'fh-bar', button, scrubber),
    make('p', 'fh-invite', 'Now you: cause the collapse, and find the limit that prevents it.'),
    make('div', 'fh-settings', ...sliders.map(({ field }) => field)),
    table,
  );
  hero.setAttribute('aria-label', 'A rush without limits and with them');
  root.append(hero);

  /** @type {Colors | undefined} */
  let colors;
  const draw = () => {
    const { now, playing, ended } = player;
    colors ??= colorsOf(hero);
    const state = stateAt(rushes, now);
    for (const { side, picture, tally } of worlds) {
      picture.draw(1000 * now, colors);
      tally.show(state[side]);
    }
    say(caption, captionOf(state, now >= END_SECONDS));
    for (const { name, shown } of sliders) say(shown, `${settings[name]} a second`);
    say(button, playing ? 'Pause' : ended ? 'Replay' : 'Play');
    button.dataset['does'] = playing ? 'pause' : ended ? 'replay' : 'play';
    scrubber.value = String(now);
    scrubber.setAttribute('aria-valuetext', `${now.toFixed(1)} of ${END.toFixed(1)} seconds`);
  };
  const player = new Player(hero, {
    begin,
    end: END,
    picture: autoplay && !calm ? worlds[0]?.canvas : undefined,
    changed: () => draw(),
  });
  const set = () => {
    settings = { demand: valueOf('demand'), limit: valueOf('limit') };
    rushes = rushOf(settings);
    for (const { side, picture } of worlds) picture.show(rushes[side]);
    fillTable(table, rushes);
    // A film that plays goes on with the new riders. Otherwise the end shows what they came to.
    if (player.playing) draw();
    else player.show(END);
  };
  const valueOf = (/** @type {'demand' | 'limit'} */ name) =>
    Number(sliders.find((slider) => slider.name === name)?.input.value);
  for (const { input } of sliders) input.addEventListener('input', set);
  fillTable(table, rushes);
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
 * @param {number} min
 * @param {number} max
 * @param {number} step
 */
function sliderOf(min, max, step) {
  const slider = make('input', '');
  slider.type = 'range';
  slider.min = String(min);
  slider.max = String(max);
  slider.step = String(step);
  return slider;
}

/**
 * The end of the rush in words.
 *
 * @param {HTMLElement} details
 * @param {import('../model/hero.js').Rush} rushes
 */
function fillTable(details, rushes) {
  const end = stateAt(rushes, END_SECONDS);
  const rows = [
    ...FIGURES.map(([name, label]) => [label, ...SIDES.map(([side]) => `${end[side][name]} riders`)]),
    ['99 % waited at most', ...SIDES.map(([side]) => `${(end[side].waitMs / 1000).toFixed(2)} s`)],
  ];
  const head = make('tr', '', make('td', ''), ...SIDES.map(([, title]) => header('col', title)));
  const body = rows.map(([label, ...cells]) =>
    make('tr', '', header('row', String(label)), ...cells.map((cell) => make('td', '', cell))),
  );
  details.querySelector('table')?.remove();
  details.append(make('table', 'fh-table', make('thead', '', head), make('tbody', '', ...body)));
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
