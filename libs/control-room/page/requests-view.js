import { make, makeSvg } from './dom.js';

/** @typedef {import('./requests-layout.js').Shape} Shape */

const SAMPLES = 16;

/** Draws a shape of the canvas for the legend. @param {Shape | 'followed'} shape */
function sample(shape) {
  const shapes = {
    open: () => makeSvg('circle', { class: 'open', cx: 8, cy: 8, r: 3.5 }),
    served: () => makeSvg('circle', { class: 'served', cx: 8, cy: 8, r: 4 }),
    refused: () => makeSvg('rect', { class: 'refused', x: 4.5, y: 4.5, width: 7, height: 7 }),
    failed: () => makeSvg('path', { class: 'failed', d: 'M4.5 4.5 L11.5 11.5 M11.5 4.5 L4.5 11.5' }),
    followed: () =>
      makeSvg('path', {
        class: 'followed',
        d: 'M14.5 8 a6.5 6.5 0 1 1 -13 0 a6.5 6.5 0 1 1 13 0 M11 8 a3 3 0 1 1 -6 0 a3 3 0 1 1 6 0',
      }),
  };
  const attributes = { viewBox: `0 0 ${SAMPLES} ${SAMPLES}`, width: SAMPLES, height: SAMPLES, 'aria-hidden': 'true' };
  return makeSvg('svg', attributes, shapes[shape]());
}

let views = 0;

/** The elements of the picture. @param {string} title @param {HTMLElement} card */
export function viewOf(title, card) {
  const number = ++views;
  const share = make('span', 'requests-share');
  const followed = make('span', '');
  const legend = make(
    'p',
    'requests-legend',
    make('span', '', sample('open'), 'on its way'),
    make('span', '', sample('served'), 'served'),
    make('span', '', sample('refused'), 'refused'),
    make('span', '', sample('failed'), 'failed'),
    make('span', 'requests-followed', sample('followed'), followed),
  );
  const canvas = make('canvas', '');
  canvas.setAttribute('aria-hidden', 'true');
  const limits = make('span', 'requests-limits', 'limits');
  const waiting = make('span', 'requests-waiting');
  const stations = make(
    'div',
    'requests-stations',
    make('span', 'requests-riders', 'riders'),
    make('div', 'requests-gate'),
    make('div', 'requests-queue'),
    limits,
    make('span', 'requests-matching', 'matching', waiting),
  );
  const axis = ['', '', ''].map((text) => make('span', '', text));
  const rows = make(
    'div',
    'requests-rows',
    make('span', '', 'served'),
    make('span', '', 'refused'),
    make('span', '', 'failed'),
    make('div', 'requests-axis', ...axis),
  );
  const hint = make(
    'p',
    'unseen',
    'The arrow keys walk from the newest request to the oldest. Escape closes the card.',
  );
  hint.id = `requests-hint-${number}`;
  const list = make('div', 'requests-list');
  list.tabIndex = 0;
  list.id = `requests-list-${number}`;
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', `${title}: requests, newest first`);
  list.setAttribute('aria-describedby', hint.id);
  const idle = make('p', 'requests-idle', 'During a surge, each request falls from its rider to the limits here.');
  const paused = make('p', 'requests-paused', 'paused');
  paused.hidden = true;
  const picture = make('div', 'requests-picture', stations, rows, canvas, share, idle, list, paused, card);
  const element = make('div', 'requests-drawn', legend, picture, hint);
  return { element, picture, canvas, list, share, followed, limits, waiting, axis, idle, paused };
}
