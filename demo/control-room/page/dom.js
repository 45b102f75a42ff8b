/**
 * The page's element with the ID.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element;
}

/**
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {...Node} children
 * @returns {SVGElement}
 */
export function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/**
 * @param {number} value
 * @returns {string}
 */
export function shown(value) {
  return whole.format(value);
}

/**
 * @param {number} ms
 * @returns {string}
 */
export function shownTime(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)}\u00A0s`;
  return `${ms >= 10 || ms === 0 ? Math.round(ms) : ms.toFixed(1)}\u00A0ms`;
}

/**
 * Such as `61 %`, and `0.4 %` below one, so that only nothing is shown as 0 %.
 *
 * @param {number} share 0 to 1
 * @returns {string}
 */
export function shownShare(share) {
  const percent = 100 * share;
  return percent > 0 && percent < 1 ? `${Math.max(0.1, percent).toFixed(1)}\u00A0%` : `${Math.round(percent)}\u00A0%`;
}
