import { Timeline } from '../model/timeline.js';
import { MAX_EVENTS, MAX_TIME_MS, paceOf } from '../model/traffic.js';

/** @typedef {import('../model/settings.js').Settings} Settings */
/** @typedef {import('../model/traffic.js').TrafficEvent} TrafficEvent */

/** A tab that was hidden, or a machine that slept, does not make the timeline jump. */
const LONGEST_FRAME_MS = 250;
const REDRAW_MS = 1000;

/** The timeline in real time: it plays, pauses and steps. */
export class Player {
  /** @type {Timeline} */
  timeline;
  playing = false;
  /** Whether the next request sets time going again: it stands still since nothing more happened. */
  rests = false;
  /** Whether the timeline shows the traffic of a preset. A person's first request begins an empty one. */
  isExample = false;
  /** Where the picture begins, in milliseconds, if it shows less than it could. @type {number | undefined} */
  from;
  speed = 1;
  /** The part of a millisecond that has passed. */
  #rest = 0;
  #last = 0;
  #drawn = -Infinity;
  #calm = matchMedia('(prefers-reduced-motion: reduce)');
  #draw;
  #change;
  #feed;

  /**
   * @param {Settings} settings
   * @param {readonly TrafficEvent[]} events
   * @param {{ draw: () => void, change: () => void, feed: (to: number) => boolean }} view `change`: it begins or
   *   ceases to play, or what a link holds has changed; `feed`: adds traffic until a time, to which the timeline moves then, and says whether more follows
   */
  constructor(settings, events, { draw, change, feed }) {
    this.timeline = new Timeline(settings, events);
    this.#draw = draw;
    this.#change = change;
    this.#feed = feed;
  }

  play() {
    if (this.playing || this.timeline.now >= MAX_TIME_MS) return;
    this.playing = true;
    this.rests = false;
    this.#last = performance.now();
    requestAnimationFrame((at) => this.#frame(at));
    this.#change();
  }

  pause() {
    this.rests = false;
    if (!this.playing) return;
    this.playing = false;
    this.#change();
    this.#draw();
  }

  /** Stands still until the next request. */
  rest() {
    const goesOn = this.playing || this.rests;
    this.pause();
    this.rests = goesOn;
  }

  /**
   * Moves time on at once.
   *
   * @param {number} ms
   */
  skip(ms) {
    this.#advance(ms);
    this.#draw();
    this.#change();
  }

  /** Begins an empty timeline for a person's first request, and sets time going if it rests. */
  begin() {
    if (this.isExample) this.restart(this.timeline.settings, [], 0);
    if (this.rests) this.play();
  }

  /**
   * Adds traffic from now on.
   *
   * @param {readonly TrafficEvent[]} events
   * @returns {boolean} whether the timeline has room for it
   */
  add(events) {
    const { timeline } = this;
    if (timeline.events.length + events.length > MAX_EVENTS) return false;
    timeline.add(events);
    this.#draw();
    this.#change();
    return true;
  }

  /**
   * Begins anew: the same traffic with other numbers, or other traffic.
   *
   * @type {(settings: Settings, events: readonly TrafficEvent[], now: number, from?: number, isExample?: boolean) => void}
   */
  restart(settings, events, now, from, isExample = false) {
    this.isExample = isExample;
    this.from = from;
    this.timeline = new Timeline(settings, events);
    this.timeline.advance(now);
    this.#draw();
    this.#change();
  }

  /**
   * @param {number} ms
   * @returns {boolean} whether more traffic follows
   */
  #advance(ms) {
    const to = Math.min(MAX_TIME_MS, this.timeline.now + ms);
    const flows = this.#feed(to);
    if (to > this.timeline.now) this.from = undefined;
    this.timeline.advance(to);
    return flows;
  }

  /** @param {number} at */
  #frame(at) {
    if (!this.playing) return;
    const passed =
      Math.min(LONGEST_FRAME_MS, Math.max(0, at - this.#last)) * this.speed * paceOf(this.timeline.settings.windowMs) +
      this.#rest;
    const whole = Math.floor(passed);
    this.#rest = passed - whole;
    this.#last = at;
    const flows = this.#advance(whole);
    if (!this.#calm.matches || at - this.#drawn >= REDRAW_MS) {
      this.#drawn = at;
      this.#draw();
    }
    if (this.timeline.now >= MAX_TIME_MS) this.pause();
    else if (!flows && this.timeline.isQuiet) this.rest();
    else requestAnimationFrame((next) => this.#frame(next));
  }
}
