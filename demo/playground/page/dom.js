import { make, say } from '../../palette/elements.js';
import { UNITS } from '../model/settings.js';

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

/** @type {(label: string, act: () => void) => HTMLButtonElement} */
export function actButton(label, act) {
  const made = make('button', '', label);
  made.type = 'button';
  made.addEventListener('click', act);
  return made;
}

/**
 * Shows a message, or none.
 *
 * @type {(element: HTMLElement, text: string) => void}
 */
export function tell(element, text) {
  say(element, text);
  element.hidden = text === '';
}

/**
 * A time in its two largest units: `20 s`, `1 m 30 s`, `29 d 3 h`.
 *
 * @param {number} microseconds
 * @returns {string}
 */
export function time(microseconds) {
  const ms = Math.round(microseconds / 1000);
  const units = /** @type {const} */ (['d', 'h', 'm', 's']);
  const at = units.findIndex((unit) => ms >= UNITS[unit]);
  const [unit, part] = [units[at] ?? 's', units[at + 1]];
  if (unit === 's' || part === undefined) return `${ms / UNITS.s} s`;
  const rest = Math.floor((ms % UNITS[unit]) / UNITS[part]);
  return `${Math.floor(ms / UNITS[unit])} ${unit}${rest === 0 ? '' : ` ${rest} ${part}`}`;
}

/**
 * A time that changes: as wide as the next one, and never too short.
 *
 * @param {number} microseconds
 * @returns {string}
 */
export function seconds(microseconds) {
  const tenths = Math.ceil(microseconds / 100_000);
  return tenths < 600 ? `${(tenths / 10).toFixed(1)} s` : time(Math.ceil(tenths / 10) * 1_000_000);
}
