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
 * Calls back when the theme changes: that of the system, or that of the page, which is an attribute of its root.
 *
 * @param {() => void} changed
 * @param {AbortSignal} signal ends it
 */
export function watchColors(changed, signal) {
  const forget = () => {
    known = undefined;
    changed();
  };
  forget();
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)']) {
    matchMedia(query).addEventListener('change', forget, { signal });
  }
  const themed = new MutationObserver(forget);
  themed.observe(document.documentElement, { attributes: true });
  signal.addEventListener('abort', () => themed.disconnect());
}
