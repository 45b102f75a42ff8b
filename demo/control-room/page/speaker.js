import { say } from '../../palette/elements.js';
import { byId } from './dom.js';

/** The shortest time between two sentences for a screen reader. */
const SPEAK_EVERY_MS = 6000;

/** Tells screen readers what changes, rarely enough to listen to. */
export class Speaker {
  /** Sentences that must not get lost. @type {string[]} */
  waiting = [];
  spokeAt = -Infinity;
  last = '';

  /** Speaks as soon as the last sentence had its time. @param {string} sentence */
  tell(sentence) {
    this.waiting.push(sentence);
    this.turn();
  }

  /** Speaks only if nothing else waits and the sentence is new. @param {() => string} sentence */
  mention(sentence) {
    if (this.waiting.length > 0 || !this.isFree) return;
    const text = sentence();
    if (text !== '' && text !== this.last) this.speak(text);
  }

  /** Speaks what waits. Called with every tick. */
  turn() {
    if (this.waiting.length > 0 && this.isFree) this.speak(this.waiting.splice(0).join(' '));
  }

  get isFree() {
    return performance.now() - this.spokeAt >= SPEAK_EVERY_MS;
  }

  /** @param {string} text */
  speak(text) {
    this.spokeAt = performance.now();
    this.last = text;
    say(byId('spoken'), text);
  }
}
