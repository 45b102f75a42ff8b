import { make, say } from './dom.js';

/** @typedef {import('../live.js').TrialResult} TrialResult */

/** The reason phrases of statuses. @type {Readonly<Record<string, string>>} */
const MEANINGS = {
  200: 'OK',
  201: 'Created',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** More statuses than that have no room for their phrases. */
const MEANT = 2;

/**
 * What a button's requests got. Its place is always there, so that nothing moves when a result comes or goes.
 */
export class Result {
  /** Instants of this page's clock. @type {{ element: HTMLElement, endsAt: number, text: (seconds: number) => string, end: string }[]} */
  countdowns = [];

  /** @param {string} title of the lane, for the name of the close button */
  constructor(title) {
    this.content = make('div', 'content');
    this.close = make('button', 'close');
    this.close.type = 'button';
    this.close.setAttribute('aria-label', `Dismiss the result: ${title}`);
    this.close.append(make('span', 'cross', '×'));
    this.close.hidden = true;
    this.element = make('div', 'outcome', this.content, this.close);
  }

  get isShown() {
    return !this.close.hidden;
  }

  /**
   * @param {TrialResult} result
   * @param {(policy: string) => string} refuser what refused, in words
   * @returns {string} a sentence for screen readers
   */
  show({ statuses, refusals, answer, tookMs }, refuser) {
    const entries = Object.entries(statuses);
    const withMeaning = entries.length <= MEANT;
    const tallies = entries.map(([status, count]) => ({ status, text: tally(status, count, withMeaning) }));
    const refusers = Object.entries(refusals);
    const refused = refusersText(refusers, refuser);
    this.countdowns = [];
    const several = entries.length > 1;
    const headers = Object.entries(answer.headers).map(([name, value]) => {
      const shown = make('dd', '', value);
      const live = this.liveOf(name, answer);
      if (live !== undefined) shown.append(' ', live);
      return make('div', '', make('dt', '', properName(name)), shown);
    });
    const none = make('p', 'quiet', 'no X-RateLimit headers: no limit was applied');
    this.content.replaceChildren(
      make(
        'p',
        'tally',
        ...tallies.map(({ status, text }) => make('span', `status s${kindOf(status)}`, text)),
        make('span', 'quiet', several ? `${tookMs} ms; headers of a ${answer.status}:` : `${tookMs} ms`),
      ),
      ...(refused === '' ? [] : [make('p', 'refuser', refused)]),
      ...(headers.length > 0 ? [make('dl', '', ...headers)] : [none]),
    );
    this.close.hidden = false;
    this.draw();
    const retry = answer.headers['retry-after'];
    return [
      tallies.map(({ text }) => text).join(', '),
      ...(refused === '' ? [] : [refused]),
      ...(retry === undefined ? [] : [`retry after ${retry} s`]),
    ].join('; ');
  }

  /** @param {string} message */
  fail(message) {
    this.countdowns = [];
    this.content.replaceChildren(make('p', 'rejected-text', message));
    this.close.hidden = false;
  }

  dismiss() {
    this.countdowns = [];
    this.content.replaceChildren();
    this.close.hidden = true;
  }

  /** Counts down. */
  draw() {
    for (const { element, endsAt, text, end } of this.countdowns) {
      const seconds = Math.ceil((endsAt - performance.now()) / 1000);
      say(element, seconds > 0 ? text(seconds) : end);
    }
  }

  /** What a header means now. @param {string} name @param {TrialResult['answer']} answer */
  liveOf(name, { resetAfterMs, retryAfterMs }) {
    const kind = {
      'x-ratelimit-reset': {
        afterMs: resetAfterMs,
        text: (/** @type {number} */ seconds) => `resets in ${seconds} s`,
        end: 'has reset',
      },
      'retry-after': {
        afterMs: retryAfterMs,
        text: (/** @type {number} */ seconds) => `retry in ${seconds} s`,
        end: 'a retry can pass',
      },
    }[name];
    if (kind === undefined || kind.afterMs === null) return undefined;
    const element = make('span', 'live');
    const { text, end } = kind;
    this.countdowns.push({ element, endsAt: performance.now() + kind.afterMs, text, end });
    return element;
  }
}

/** Such as “20 × 200 OK”. @param {string} status @param {number} count @param {boolean} withMeaning */
function tally(status, count, withMeaning) {
  return `${count > 1 ? `${count} × ` : ''}${status} ${(withMeaning && MEANINGS[status]) || ''}`.trim();
}

/**
 * One line, also for several policies.
 *
 * @param {readonly (readonly [string, number])[]} refusers
 * @param {(policy: string) => string} refuser
 */
function refusersText(refusers, refuser) {
  const [first] = refusers;
  if (first === undefined) return '';
  if (refusers.length === 1) return `refused by ${refuser(first[0])}`;
  return `refused: ${refusers.map(([policy, count]) => `${count} by “${policy}”`).join(', ')}`;
}

/** The meaning of the colour: served, refused or failed. @param {string} status */
function kindOf(status) {
  if (status === '429') return 'refused';
  return Number(status) < 400 ? 'served' : 'failed';
}

/** The header's usual spelling. @param {string} name in lower case */
function properName(name) {
  return name
    .split('-')
    .map((word) => (word === 'ratelimit' ? 'RateLimit' : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('-');
}
