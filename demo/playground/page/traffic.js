import { readSize, UNITS } from '../model/settings.js';
import { burst, edgeScript, MAX_EVENTS, paceOf } from '../model/traffic.js';
import { say } from '../../palette/elements.js';
import { button, byId, tell } from './dom.js';

/** @typedef {import('./player.js').Player} Player */
/** @typedef {import('../model/traffic.js').TrafficKind} TrafficKind */
/** @typedef {import('./result.js').Result} Result */

/** A shorter press is a click: the stream goes on until the next one. */
const CLICK_MS = 350;

/** The buttons that send requests. */
export class Traffic {
  #player;
  #result;
  #full = byId('notice', HTMLElement);
  /** When the stream sends next, on the timeline; undefined while it does not. @type {number | undefined} */
  #next;
  #pressedAt = 0;
  #wasOn = false;

  /**
   * @param {Player} player
   * @param {Result} result
   */
  constructor(player, result) {
    this.#player = player;
    this.#result = result;
    button('tap').addEventListener('click', () => this.tap());
    button('burst').addEventListener('click', () => this.burst('once'));
    button('edge').addEventListener('click', () => this.edge());
    button('impatient').addEventListener('click', () => this.burst('impatient'));
    button('patient').addEventListener('click', () => this.burst('patient'));
    button('low').addEventListener('click', () => this.burst('low'));
    const size = byId('size', HTMLInputElement);
    size.addEventListener('input', () => {
      if (typeof readSize(size.value) === 'number') say(button('burst'), `Send ${size.value}`);
    });
    this.#wireHold(button('hold'));
  }

  tap() {
    this.#send(1, 'once');
  }

  /** @param {TrafficKind} kind */
  burst(kind) {
    const read = readSize(byId('size', HTMLInputElement).value);
    if (typeof read === 'string') tell(this.#full, read);
    else this.#send(read, kind);
  }

  /** One limit on each side of an edge. Time moves there at once, stands still, and the picture shows nothing else. */
  edge() {
    this.#player.begin();
    const { timeline } = this.#player;
    const { limit, windowMs } = timeline.settings;
    if (2 * limit > MAX_EVENTS) {
      return tell(this.#full, `Both sides of an edge need ${2 * limit} requests; a timeline keeps ${MAX_EVENTS}.`);
    }
    const { events, near, edge, end } = edgeScript(timeline.now, limit, windowMs, (at) => timeline.edgeAfter(at));
    this.#result.begin(timeline, { count: events.length, edge, apart: end - edge });
    if (this.#fits(this.#player.add(events))) {
      this.#player.skip(end + near - timeline.now);
      this.#player.rest();
      this.#player.from = edge - 2 * near;
      this.#player.skip(0);
    }
    return this.#result.end(this.#player.timeline);
  }

  /** No process renews the leases of the requests that run. */
  crash() {
    this.#fits(this.#player.add([{ at: this.#player.timeline.now, kind: 'crash' }]));
  }

  /**
   * Adds what the stream sends until a time, before the timeline moves there.
   *
   * @param {number} to
   * @returns {boolean} whether it goes on
   */
  flow(to) {
    const { timeline } = this.#player;
    while (this.#next !== undefined && this.#next <= to) {
      if (!this.#fits(timeline.events.length < MAX_EVENTS)) this.#hold(false);
      if (this.#next === undefined) break;
      this.#result.begin(timeline, { count: 1, kind: 'once' });
      timeline.add([{ at: Math.max(this.#next, timeline.now), kind: 'once' }]);
      this.#result.endSoon(this.#player);
      this.#next += this.#period();
    }
    return this.#next !== undefined;
  }

  stop() {
    this.#hold(false);
  }

  /** Says the rates of the stream in the unit that fits the pace of the timeline. */
  sayRates() {
    for (const option of byId('rate', HTMLSelectElement).options) {
      const each = this.#period(option.value);
      const unit = /** @type {const} */ (['s', 'm', 'h']).find((one) => UNITS[one] >= each) ?? 'd';
      say(option, `${Number((UNITS[unit] / each).toPrecision(2))}/${unit}`);
    }
  }

  /** @type {(count: number, kind: TrafficKind) => void} */
  #send(count, kind) {
    this.#player.begin();
    const { timeline } = this.#player;
    this.#result.begin(timeline, { count, kind });
    this.#fits(this.#player.add(burst(timeline.now, count, kind)));
    this.#result.endSoon(this.#player);
  }

  /** @param {boolean} fits */
  #fits(fits) {
    tell(this.#full, fits ? '' : `A timeline keeps ${MAX_EVENTS} requests. Clear it to send more.`);
    return fits;
  }

  /** The milliseconds of the timeline between two requests of the stream. */
  #period(value = byId('rate', HTMLSelectElement).value) {
    return Math.round(Number(value) * paceOf(this.#player.timeline.settings.windowMs));
  }

  /** @param {HTMLButtonElement} hold */
  #wireHold(hold) {
    const press = () => {
      this.#pressedAt = performance.now();
      this.#wasOn = this.#next !== undefined;
      this.#hold(true);
    };
    const release = () => {
      if (this.#pressedAt === 0) return;
      const isClick = performance.now() - this.#pressedAt < CLICK_MS;
      this.#pressedAt = 0;
      this.#hold(isClick && !this.#wasOn);
    };
    hold.addEventListener('pointerdown', (event) => {
      hold.setPointerCapture(event.pointerId);
      press();
    });
    for (const end of ['pointerup', 'pointercancel', 'blur']) hold.addEventListener(end, release);
    hold.addEventListener('keydown', (event) => {
      if (event.key !== ' ' && event.key !== 'Enter') return;
      event.preventDefault();
      if (!event.repeat) press();
    });
    hold.addEventListener('keyup', (event) => {
      if (event.key === ' ' || event.key === 'Enter') release();
    });
    // A screen reader clicks without a key and without a pointer.
    hold.addEventListener('click', (event) => {
      if (event.detail === 0) this.#hold(this.#next === undefined);
    });
  }

  /** @param {boolean} on */
  #hold(on) {
    button('hold').setAttribute('aria-pressed', String(on));
    if (!on) this.#next = undefined;
    else if (this.#next === undefined) {
      this.#player.begin();
      this.#next = this.#player.timeline.now;
      this.#player.play();
    }
  }
}
