/** The colours of the palette for canvases, which know neither custom properties nor forced colours. */

const forced = matchMedia('(forced-colors: active)');
const dark = matchMedia('(prefers-color-scheme: dark)');

/** @param {() => void} listener */
export function onThemeChange(listener) {
  for (const query of [forced, dark]) query.addEventListener('change', listener);
}

/** @type {HTMLElement | undefined} */
let probe;

/**
 * The colour as the browser computes it: a system colour's name becomes the colour of the theme.
 *
 * @param {string} name of a custom property
 */
export function colorOf(name) {
  if (probe === undefined) {
    probe = document.createElement('span');
    probe.className = 'probe';
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
