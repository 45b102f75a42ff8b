/** Canvases are drawn again with other colours. */
const themes = [matchMedia('(forced-colors: active)'), matchMedia('(prefers-color-scheme: dark)')];

/** @param {() => void} listener */
export function onThemeChange(listener) {
  for (const query of themes) query.addEventListener('change', listener);
}
