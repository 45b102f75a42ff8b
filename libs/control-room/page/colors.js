/** The colours and patterns of the palette for canvases, which know neither custom properties nor forced colours. */

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

/** @typedef {'served' | 'refused' | 'failed'} Outcome */

/**
 * The fill of an outcome's area. Failures are hatched in every theme, so that colour does not carry their meaning alone. In forced colours
 * each outcome has a pattern.
 *
 * @param {Outcome} outcome
 * @param {number} ratio pixels of the canvas per CSS pixel
 * @returns {string | CanvasPattern}
 */
export function fillOf(outcome, ratio) {
  const color = colorOf(`--${outcome}`);
  const back = forced.matches ? colorOf('--card') : color;
  if (!forced.matches && outcome !== 'failed') return color;
  const size = Math.round((outcome === 'refused' ? 6 : 8) * ratio);
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const context = /** @type {CanvasRenderingContext2D} */ (tile.getContext('2d'));
  context.fillStyle = back;
  context.fillRect(0, 0, size, size);
  context.strokeStyle = context.fillStyle = forced.matches ? color : colorOf('--card');
  context.globalAlpha = forced.matches ? 1 : 0.28;
  if (outcome === 'refused') {
    context.fillRect(size / 3, size / 3, size / 3, size / 3);
  } else if (outcome === 'served') {
    context.fillRect(0, 0, size, size);
  } else {
    context.lineWidth = (forced.matches ? 2.5 : 2) * ratio;
    context.beginPath();
    for (const shift of [-size, 0, size]) {
      context.moveTo(shift - 2, size + 2);
      context.lineTo(shift + size + 2, -2);
    }
    context.stroke();
  }
  return /** @type {CanvasPattern} */ (context.createPattern(tile, 'repeat'));
}
