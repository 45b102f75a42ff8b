import { nearest } from './requests-layout.js';

/** @typedef {import('./requests.js').Requests} Requests */

const HOVER_REACH = 12;
const TOUCH_REACH = 24;
/** The arrow keys walk over this many requests. */
export const MOST_OPTIONS = 50;

/** From the index of an option to the next one. @type {Readonly<Record<string, (i: number) => number>>} */
const STEPS = {
  ArrowRight: (i) => i + 1,
  ArrowDown: (i) => i + 1,
  ArrowLeft: (i) => i - 1,
  ArrowUp: (i) => i - 1,
  Home: () => 0,
  End: () => MOST_OPTIONS,
};

/** Chooses requests by mouse, touch and keyboard. @param {Requests} requests */
export function listen(requests) {
  const { picture, list } = requests.view;
  picture.addEventListener('pointermove', (event) => {
    // Dots that move under a resting pointer open no card: only a pointer that moves does.
    if (event.pointerType !== 'touch') point(requests, event);
  });
  picture.addEventListener('pointerleave', (event) => {
    if (event.pointerType !== 'touch') requests.releaseSoon();
  });
  picture.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch') touch(requests, event);
  });
  list.addEventListener('focus', () => {
    // A click gives the focus, too, and chooses by itself.
    if (list.matches(':focus-visible')) requests.walk(() => 0);
  });
  list.addEventListener('blur', () => {
    if (requests.chosen?.by === 'keyboard') requests.release();
  });
  list.addEventListener('keydown', (event) => {
    const step = STEPS[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    requests.walk(step);
    event.preventDefault();
  });
  document.addEventListener('keydown', ({ key }) => {
    // A card that hover has opened can be closed without moving the pointer.
    if (key === 'Escape' && requests.chosen !== undefined) requests.release();
  });
  document.addEventListener('pointerdown', ({ target }) => {
    if (requests.chosen !== undefined && !picture.contains(/** @type {Node} */ (target))) requests.release();
  });
}

/** @param {Requests} requests @param {PointerEvent} event */
function point(requests, event) {
  if (isOnCard(requests, event)) return requests.stay();
  const mark = markAt(requests, event, HOVER_REACH);
  if (mark === undefined) return requests.releaseSoon();
  requests.stay();
  if (mark !== requests.chosen?.mark) requests.choose(mark, 'pointer');
}

/** @param {Requests} requests @param {PointerEvent} event */
function touch(requests, event) {
  if (isOnCard(requests, event)) return;
  const mark = markAt(requests, event, TOUCH_REACH);
  if (mark === undefined) requests.release();
  else requests.choose(mark, 'touch');
}

/** @param {Requests} requests @param {PointerEvent} event */
function isOnCard({ card }, { target }) {
  return card.element.contains(/** @type {Node} */ (target));
}

/** @param {Requests} requests @param {PointerEvent} event @param {number} reach */
function markAt({ view, marks }, { clientX, clientY }, reach) {
  const { left, top } = view.canvas.getBoundingClientRect();
  return nearest(marks, clientX - left, clientY - top, reach);
}
