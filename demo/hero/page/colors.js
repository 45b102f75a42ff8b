import { make } from '../../palette/elements.js';

/** @typedef {import('./picture.js').Colors} Colors */

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
 * The tokens as the browser computes them, with `light-dark()` and fallbacks resolved.
 *
 * @param {HTMLElement} element
 * @returns {Colors}
 */
export function colorsOf(element) {
  const probe = make('span', '');
  probe.hidden = true;
  element.append(probe);
  const entries = Object.entries(COLORS).map(([name, token]) => {
    probe.style.color = `var(${token})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return { ...Object.fromEntries(entries), family: getComputedStyle(element).fontFamily };
}
