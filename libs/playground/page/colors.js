/**
 * The colours of the style sheets, for canvases.
 *
 * @typedef {Record<'served' | 'refused' | 'refusedText' | 'level' | 'ink' | 'muted' | 'line' | 'edge' | 'card', string>} Colors
 */

/** @type {Colors | undefined} */
let known;

/** @returns {Colors} */
export function colors() {
  if (known === undefined) {
    const style = getComputedStyle(document.documentElement);
    const value = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
    known = {
      served: value('served'),
      refused: value('refused'),
      refusedText: value('refused-text'),
      level: value('level'),
      ink: value('ink'),
      muted: value('muted'),
      line: value('line'),
      edge: value('edge'),
      card: value('card'),
    };
  }
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
