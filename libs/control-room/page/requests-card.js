import { make, say } from './dom.js';

/** @typedef {import('./requests-model.js').DrawnRequest} DrawnRequest */

/** @param {DrawnRequest} request @returns {string} such as "429 refused in 3 ms" */
function outcomeText({ answer, tookMs }) {
  if (answer === undefined || tookMs === undefined) return 'no answer yet';
  const took = timeText(tookMs);
  if (answer.outcome === 'failed') {
    return answer.status === 0 ? `no answer: the rider left after ${took}` : `${answer.status} failed after ${took}`;
  }
  return `${answer.status} ${answer.outcome} in ${took}`;
}

/** @param {number} ms */
function timeText(ms) {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 1 ? 'less than 1 ms' : `${Math.round(ms)} ms`;
}

/** What the card says of a request, besides its outcome. @param {DrawnRequest} request @returns {[name: string, value: string][]} */
function factsOf({ sent, answer }) {
  /** @type {[string, string][]} */
  const facts = [];
  if (typeof answer?.retryAfterMs === 'number') {
    // The header has whole seconds.
    facts.push(['Retry-After', `${Math.ceil(answer.retryAfterMs / 1000)} s`]);
  }
  if (typeof answer?.policy === 'string') facts.push(['Refused by', `policy ${answer.policy}`]);
  facts.push(['Route', sent.route], ['Rider', sent.isFollowed ? `${sent.rider}, followed` : sent.rider]);
  return facts;
}

/** The card in one sentence, for screen readers. @param {DrawnRequest} request @returns {string} */
export function sentenceOf(request) {
  const facts = factsOf(request).map(([name, value]) => `${name}: ${value}`);
  return [outcomeText(request), ...facts].join('. ');
}

const GAP = 14;

/** The card beside a request. */
export class Card {
  constructor() {
    this.outcome = make('p', 'requests-outcome');
    this.facts = make('dl', '');
    this.keys = make('p', 'requests-keys', '← → other requests · Esc closes');
    this.element = make('div', 'requests-card', this.outcome, this.facts, this.keys);
    // A screen reader reads the option instead.
    this.element.setAttribute('aria-hidden', 'true');
    this.element.hidden = true;
  }

  /** @param {DrawnRequest} request */
  fill(request) {
    say(this.outcome, outcomeText(request));
    this.outcome.dataset['outcome'] = request.answer?.outcome ?? 'open';
    const rows = factsOf(request).map(([name, value]) => make('div', '', make('dt', '', name), make('dd', '', value)));
    this.facts.replaceChildren(...rows);
  }

  /**
   * Stands beside the request, and inside the picture as far as it fits.
   *
   * @param {DrawnRequest} request
   * @param {{ x: number, y: number }} at
   * @param {{ width: number, height: number }} picture
   * @param {boolean} byKeyboard
   */
  show(request, at, picture, byKeyboard) {
    this.fill(request);
    this.keys.hidden = !byKeyboard;
    this.element.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.element;
    const right = at.x + GAP;
    const left = at.x - GAP - width;
    const beside = right + width <= picture.width ? right : left >= 0 ? left : undefined;
    // On a phone a card in the middle fits on neither side: it stands below or above.
    const below = at.y + GAP + height <= picture.height ? at.y + GAP : at.y - GAP - height;
    const x = beside ?? Math.min(picture.width - width, Math.max(0, at.x - width / 2));
    const y = beside === undefined ? below : Math.min(picture.height - height, Math.max(0, at.y - height / 2));
    this.element.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }

  hide() {
    this.element.hidden = true;
  }
}
