import { make, say } from '../../palette/elements.js';
import { details, titleOf, verdict } from './pods-words.js';

/** @typedef {import('../pods/pods-tick.js').Counting} Counting */
/** @typedef {import('../pods/pods-tick.js').PodsDescription} PodsDescription */
/** @typedef {import('../pods/pods-tick.js').PodsResult} PodsResult */

/** The last result of a way of counting, large. */
export class Card {
  /** @param {Counting} counting @param {PodsDescription} facts */
  constructor(counting, facts) {
    this.counting = counting;
    this.facts = facts;
    this.title = make('h3', '', titleOf(counting, false));
    this.big = make('b', 'pods-big', '–');
    this.of = make('span', '', ` of ${facts.pods * facts.each} passed`);
    this.verdict = make('b', 'pods-end pods-verdict', 'not tried yet');
    this.passed = make('div', 'pods-part');
    this.over = make('div', 'pods-part pods-over');
    const mark = make('div', 'pods-mark');
    mark.style.insetInlineStart = `${(100 * facts.limit) / (facts.pods * facts.each)}%`;
    this.bar = make('div', 'pods-bar', this.passed, this.over, mark);
    this.bar.setAttribute('aria-hidden', 'true');
    this.details = make('span', 'pods-end');
    this.element = make(
      'section',
      'pods-card',
      make('div', 'pods-line', this.title, this.verdict),
      make('p', 'pods-line', this.big, this.of, this.details),
      this.bar,
    );
  }

  /** @param {PodsResult | null} result @param {boolean} isNewest @param {boolean} inMemory */
  draw(result, isNewest, inMemory) {
    say(this.title, titleOf(this.counting, inMemory));
    this.element.toggleAttribute('data-newest', isNewest);
    this.element.toggleAttribute('data-empty', result === null);
    if (result === null) {
      say(this.big, '–');
      say(this.verdict, 'not tried yet');
      say(this.details, '');
      this.passed.style.inlineSize = this.over.style.inlineSize = '0';
      this.element.removeAttribute('data-over');
      return;
    }
    say(this.big, `${result.passed}`);
    say(this.of, ` of ${result.sent} passed`);
    const share = (/** @type {number} */ count) => `${(100 * count) / result.sent}%`;
    const over = Math.max(0, result.passed - result.refilled - this.facts.limit);
    this.passed.style.inlineSize = share(result.passed - over);
    this.over.style.inlineSize = share(over);
    this.element.toggleAttribute('data-over', over > 0);
    say(this.verdict, verdict(result, this.facts));
    say(this.details, details(result));
  }
}
