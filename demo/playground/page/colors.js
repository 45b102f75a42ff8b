/** @typedef {Record<'served' | 'refusedText' | 'level' | 'ink' | 'muted' | 'line' | 'edge' | 'card', string>} Colors */

const NAMES = ['served', 'refusedText', 'level', 'ink', 'muted', 'line', 'edge', 'card'];
/** @type {Colors | undefined} */
let known;

/**
 * The colours of the style sheets, for canvases.
 *
 * @returns {Colors}
 */
export function colors() {
  const style = getComputedStyle(document.documentElement);
  const value = (/** @type {string} */ name) => style.getPropertyValue(`--${name.replace('T', '-t')}`).trim();
  known ??= /** @type {Colors} */ (Object.fromEntries(NAMES.map((name) => [name, value(name)])));
  return known;
}

/**
 * Calls back when the theme changes.
 *
 * @param {() => void} changed
 */
export function watchColors(changed) {
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)']) {
    matchMedia(query).addEventListener('change', () => {
      known = undefined;
      changed();
    });
  }
}
