import { writeLink } from '../model/link.js';
import { button, byId } from './dom.js';

/** @typedef {import('./player.js').Player} Player */

/** Browsers bound how often a page may write its address. */
const WRITE_MS = 700;
const CONFIRMED_MS = 2500;

/** Keeps a link to what the page shows, as its address if the page is the playground's own. */
export class Address {
  /** @type {number | undefined} */
  #timer;
  #player;
  #rows;
  #home;
  /** What this page has written itself. */
  hash = location.hash;

  /**
   * @param {Player} player
   * @param {import('./rows.js').Rows} rows
   * @param {string} [home] the address of the playground's own page, if this page is another one
   */
  constructor(player, rows, home) {
    this.#player = player;
    this.#rows = rows;
    this.#home = home;
  }

  /** The whole link. */
  get link() {
    return new URL(this.hash, new URL(this.#home ?? '', location.href)).href;
  }

  /** Soon, since changes come in crowds. */
  writeSoon() {
    this.#timer ??= window.setTimeout(() => this.write(), WRITE_MS);
  }

  /** @returns {number} how many of the oldest requests the link leaves out */
  write() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { timeline, from } = this.#player;
    const { settings, events, now } = timeline;
    const { hash, omitted } = writeLink({
      settings,
      events,
      now,
      ...(from !== undefined && { from }),
      ...(this.#rows.isAll && { isAll: true }),
    });
    this.hash = hash;
    if (this.#home === undefined) history.replaceState(null, '', hash);
    return omitted;
  }
}

/**
 * Copies a text, and says so on the button for a while. Without the browser's leave, a dialog shows the text.
 *
 * @param {HTMLButtonElement} by
 * @param {string} text
 * @param {string} done what the button says then
 */
export async function copy(by, text, done) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = byId('manual-text', HTMLTextAreaElement);
    area.value = text;
    byId('manual', HTMLDialogElement).showModal();
    area.select();
    return;
  }
  const usual = (by.dataset.usual ??= by.textContent ?? '');
  by.textContent = done;
  by.dataset.done = '';
  setTimeout(() => {
    by.textContent = usual;
    delete by.dataset.done;
  }, CONFIRMED_MS);
}

/** @type {(address: Address, told: (omitted: number) => void) => void} */
export function wireShare(address, told) {
  const share = button('share');
  share.addEventListener('click', () => {
    const omitted = address.write();
    told(omitted);
    void copy(share, address.link, 'Copied ✓');
  });
}
