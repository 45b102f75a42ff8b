import { impatientMs } from '../model/traffic.js';
import { say } from '../../palette/elements.js';
import { byId, time } from './dom.js';
import { LABELS } from './words.js';

/** @typedef {import('../model/timeline.js').Timeline} Timeline */
/** @typedef {import('../model/traffic.js').TrafficKind} TrafficKind */
/** @typedef {{ count: number, kind?: TrafficKind, edge?: number, apart?: number }} Sent */

/** A screen reader hears of many requests together. */
const TOGETHER_MS = 900;

/** Says what became of the requests that a person has just sent. */
export class Result {
  #place = byId('result', HTMLElement);
  /** @type {Sent | undefined} */
  #sent;
  /** What each row had passed before. @type {readonly number[]} */
  #before = [];
  /** @type {number | undefined} */
  #timer;
  #shows;

  /** @param {(algorithm: string) => boolean} shows whether the page shows its row */
  constructor(shows) {
    this.#shows = shows;
  }

  /** @type {(timeline: Timeline, sent: Sent) => void} */
  begin(timeline, sent) {
    if (this.#sent !== undefined && sent.edge === undefined && this.#sent.kind === sent.kind) {
      this.#sent.count += sent.count;
      return;
    }
    this.#sent = { ...sent };
    this.#before = timeline.rows.map(({ lane }) => lane.allowed);
  }

  /** @param {{ readonly timeline: Timeline }} player */
  endSoon(player) {
    this.#timer ??= window.setTimeout(() => this.end(player.timeline), TOGETHER_MS);
  }

  /** @param {string} text */
  tell(text) {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sent = undefined;
    say(this.#place, text);
  }

  /** @param {Timeline} timeline */
  end(timeline) {
    if (this.#sent === undefined) return;
    const sent = this.#sent;
    const passed = timeline.rows.flatMap(({ policy: { algorithm }, lane }, i) => {
      if (!this.#shows(algorithm)) return [];
      const count = lane.allowed - (this.#before[i] ?? 0);
      const twice = sent.edge !== undefined && algorithm === 'fixed-window' && count === sent.count;
      return `${LABELS[algorithm].toLowerCase()} ${count}${twice ? ' (twice its limit)' : ''}`;
    });
    this.tell(`${opening(sent, timeline.settings)} Passed: ${passed.join(', ')}.`);
  }
}

/**
 * @param {Sent} sent
 * @param {import('../model/settings.js').Settings} settings
 */
function opening({ count, kind, edge, apart = 0 }, { windowMs }) {
  const requests = count === 1 ? '1 request' : `${count} requests`;
  if (edge !== undefined) return `${requests} within ${time(apart * 2000)}, around the edge at ${time(edge * 1000)}.`;
  if (kind === 'impatient')
    return `${requests}; rejected ones are sent again every ${time(impatientMs(windowMs) * 1000)}.`;
  if (kind === 'low') return `${requests} of low priority, which may fill half of each limit.`;
  if (kind === 'patient') return `${requests}; rejected ones wait for Retry-After.`;
  return `${requests}.`;
}
