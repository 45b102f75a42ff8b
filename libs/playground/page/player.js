import { Timeline } from '../model/timeline.js';
import { MAX_EVENTS, MAX_TIME_MS } from '../model/traffic.js';

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
   * @param {{ draw: () => void, change: () => void, feed: (to: number) => void }} view `change`: it begins or
   *   ceases to play, or what a link holds has changed; `feed`: adds traffic until a time, to which the timeline moves then
   */
  constructor(settings, events, { draw, change, feed }) {
    this.timeline = new Timeline(settings, events);
    this.#draw = draw;
    this.#change = change;
    this.#feed = feed;
    document.addEventListener('visibilitychange', () => (this.#last = performance.now()));
  }

  play() {
    if (this.playing || this.timeline.now >= MAX_TIME_MS) return;
    this.playing = true;
    this.#last = performance.now();
    requestAnimationFrame((at) => this.#frame(at));
    this.#change();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.#change();
    this.#draw();
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
   * @param {Settings} settings
   * @param {readonly TrafficEvent[]} events
   * @param {number} now
   */
  restart(settings, events, now) {
    this.timeline = new Timeline(settings, events);
    this.timeline.advance(now);
    this.#draw();
    this.#change();
  }

  /** @param {number} ms */
  #advance(ms) {
    const to = Math.min(MAX_TIME_MS, this.timeline.now + ms);
    this.#feed(to);
    this.timeline.advance(to);
  }

  /** @param {number} at */
  #frame(at) {
    if (!this.playing) return;
    const passed = Math.min(LONGEST_FRAME_MS, Math.max(0, at - this.#last)) * this.speed + this.#rest;
    const whole = Math.floor(passed);
    this.#rest = passed - whole;
    this.#last = at;
    this.#advance(whole);
    if (!this.#calm.matches || at - this.#drawn >= REDRAW_MS) {
      this.#drawn = at;
      this.#draw();
    }
    if (this.timeline.now >= MAX_TIME_MS) this.pause();
    else requestAnimationFrame((next) => this.#frame(next));
  }
}
