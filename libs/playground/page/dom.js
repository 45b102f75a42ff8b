/**
 * The page's element with the ID.
 *
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`the page has no ${kind.name} #${id}`);
}

/** @param {string} id */
export function button(id) {
  return byId(id, HTMLButtonElement);
}

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} className
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className !== '') element.className = className;
  element.append(...children);
  return element;
}

/**
 * Sets the text only if it differs, since a write disturbs screen readers and selections.
 *
 * @param {Element} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Shows a message, or none.
 *
 * @param {HTMLElement} element
 * @param {string} text
 */
export function tell(element, text) {
  say(element, text);
  element.hidden = text === '';
}

/**
 * @param {number} microseconds
 * @returns {string}
 */
export function seconds(microseconds) {
  return `${(Math.ceil(microseconds / 100_000) / 10).toFixed(1)} s`;
}
