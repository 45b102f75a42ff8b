import { make, say } from './dom.js';

/**
 * A part of a caption: a text, or a figure that has room for `widest`, so that the text behind it does not move.
 *
 * @typedef {string | { figure: string, widest: string }} Part
 */

/** @param {string} value @param {string} widest @returns {Part} */
export function figure(value, widest) {
  return { figure: value, widest };
}

/** Writes the parts, and touches only what differs. @param {HTMLElement} element @param {readonly Part[]} parts */
export function tell(element, parts) {
  while (element.childNodes.length > parts.length) element.lastChild?.remove();
  for (const [i, part] of parts.entries()) {
    const isText = typeof part === 'string';
    let node = element.childNodes[i];
    if (node === undefined || (node.nodeType === Node.TEXT_NODE) !== isText) {
      const fresh = isText ? document.createTextNode('') : make('span', 'figure');
      if (node === undefined) element.append(fresh);
      else node.replaceWith(fresh);
      node = fresh;
    }
    say(node, isText ? part : part.figure);
    if (!isText) widen(/** @type {HTMLElement} */ (node), part.widest);
  }
}

/** @param {HTMLElement} element @param {string} widest */
function widen(element, widest) {
  const width = `${widest.length}ch`;
  if (element.style.minWidth !== width) element.style.minWidth = width;
}
