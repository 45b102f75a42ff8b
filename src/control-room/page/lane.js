import { make, say } from './dom.js';
import { overrideText, OVERRIDDEN, planText } from './overrides.js';
import { ALGORITHMS, pictureOf } from './pictures.js';
import { send } from './send.js';

/** @typedef {import('../live.js').LaneDescription} LaneDescription */
/** @typedef {import('../live.js').LaneTick} LaneTick */
/** @typedef {import('../live.js').TrialResult} TrialResult */

/** The reason phrases of statuses. @type {Readonly<Record<string, string>>} */
const MEANINGS = { 200: 'OK', 201: 'Created', 429: 'Too Many Requests', 503: 'Service Unavailable' };

/** @param {string} status */
function withMeaning(status) {
  return `${status} ${MEANINGS[status] ?? ''}`.trim();
}

/** A limited route: the state of its policies, its traffic, and buttons that send requests. */
export class Lane {
  /** @type {{ at: number, passed: number, rejected: number }[]} */
  counts = [];

  /**
   * @param {LaneDescription} description
   * @param {boolean} mayRequest
   * @param {string} rider whose limits are drawn, and who sends the requests
   */
  constructor({ id, title, method, path, more, policies }, mayRequest, rider) {
    this.id = id;
    this.title = title;
    this.rider = rider;
    this.views = policies.map((policy) => {
      const picture = pictureOf(policy.algorithm);
      const strong = make('b', 'amount');
      const rest = make('span', 'rest');
      const whose = make('i', policy.shared ? 'whose shared' : 'whose', policy.shared ? 'all clients' : 'one client');
      const plan = make('i', 'whose plan');
      const name = make('h4', '', ALGORITHMS[policy.algorithm], ' ', whose, ' ', plan);
      const override = make('p', 'override');
      plan.hidden = override.hidden = true;
      const element = make(
        'div',
        `policy ${policy.algorithm}`,
        name,
        picture.element,
        make('p', 'caption', strong, rest),
        override,
      );
      element.dataset['policy'] = policy.name;
      return {
        picture,
        strong,
        rest,
        plan,
        override,
        element,
        state: /** @type {string | undefined} */ (undefined),
        heldAt: /** @type {number | undefined} */ (undefined),
      };
    });
    this.passed = make('b', '', '0');
    this.rejected = make('b', '', '0');
    this.outcome = make('div', 'outcome');
    this.outcome.setAttribute('role', 'status');
    this.buttons = [
      this.button(`Send 1${id === 'location' ? ' × 30' : ''}`, title, false),
      this.button(id === 'location' ? `Send ${more} × 500` : `Send ${more}`, title, true),
    ];
    for (const button of this.buttons) button.disabled = !mayRequest;
    this.element = make(
      'article',
      'card lane',
      make(
        'div',
        'about',
        make('h3', '', title),
        make('code', '', make('span', 'method', method), ' ', path),
        make(
          'p',
          'legend',
          make('span', 'key passed', this.passed, ' /s allowed'),
          make('span', 'key rejected', this.rejected, ' /s rejected'),
        ),
      ),
      make('div', 'policies', ...this.views.map(({ element }) => element)),
      make('div', 'buttons', ...this.buttons),
      this.outcome,
    );
    this.element.dataset['lane'] = id;
  }

  /** The override of each policy, in words. */
  get overrides() {
    return (this.tick?.riders[this.rider] ?? []).flatMap((policy) =>
      policy?.override ? [overrideText(policy.override)] : [],
    );
  }

  /** @param {string} rider */
  choose(rider) {
    this.rider = rider;
    for (const view of this.views) view.state = undefined;
    this.outcome.replaceChildren(); // it is the other rider's
    if (this.tick !== undefined) this.see(this.tick, 0);
  }

  /** @param {LaneTick} tick @param {number} at */
  hear(tick, at) {
    this.tick = tick;
    this.see(tick, at);
    this.counts.push({ at, passed: tick.passed, rejected: tick.rejected });
    while ((this.counts[1]?.at ?? Infinity) <= at - 1000) this.counts.shift();
    const from = this.counts[0] ?? tick;
    const seconds = Math.max(1, (at - (this.counts[0]?.at ?? at)) / 1000);
    say(this.passed, String(Math.round((tick.passed - from.passed) / seconds)));
    say(this.rejected, String(Math.round((tick.rejected - from.rejected) / seconds)));
  }

  /** @param {LaneTick} tick @param {number} at */
  see(tick, at) {
    const policies = tick.riders[this.rider];
    for (const [i, view] of this.views.entries()) {
      const policy = policies?.[i];
      const state = JSON.stringify(policy?.state);
      // During traffic the state changes between two ticks. The picture keeps the last known state until the next tick.
      view.heldAt = view.state === undefined || view.state === state ? undefined : at;
      view.state = state;
      const plan = planText(policy?.plan);
      view.plan.hidden = plan === '';
      say(view.plan, plan);
      const { override } = policy ?? {};
      view.override.hidden = !override;
      say(view.override, override ? overrideText(override) : '');
    }
  }

  /** @param {number} now by the clock of the store */
  draw(now) {
    const policies = this.tick?.riders[this.rider];
    for (const [i, { picture, strong, rest, element, heldAt }] of this.views.entries()) {
      const policy = policies?.[i];
      const { change } = policy?.override ?? {};
      const word = change?.exempt ? 'exempt' : change?.blocked ? 'blocked' : undefined;
      element.toggleAttribute('data-unknown', word === undefined && !policy?.state);
      element.toggleAttribute('data-uncounted', word !== undefined);
      if (word !== undefined) {
        say(strong, word);
        say(rest, OVERRIDDEN[word]);
        element.removeAttribute('data-full');
      } else if (policy?.state && policy.numbers) {
        const caption = picture.draw(policy.state, heldAt ?? now, policy.numbers);
        say(strong, caption.strong);
        say(rest, caption.more);
        element.dataset['full'] = caption.full.toFixed(3);
      }
    }
  }

  /** @param {string} text @param {string} title @param {boolean} many */
  button(text, title, many) {
    const button = make('button', '', text);
    button.type = 'button';
    button.setAttribute('aria-label', `${text}: ${title}`);
    button.addEventListener('click', () => void this.try(many));
    return button;
  }

  /** @param {boolean} many */
  async try(many) {
    for (const button of this.buttons) button.setAttribute('aria-busy', 'true');
    try {
      this.show(await send(this.id, this.rider, many));
    } catch (error) {
      this.outcome.replaceChildren(make('p', 'rejected-text', /** @type {Error} */ (error).message));
    } finally {
      for (const button of this.buttons) button.removeAttribute('aria-busy');
    }
  }

  /** @param {TrialResult} result */
  show({ statuses, answer, tookMs }) {
    const tally = Object.entries(statuses).map(([status, count]) =>
      make('span', `status s${status[0]}`, count > 1 ? `${count} × ` : '', withMeaning(status)),
    );
    const headers = Object.entries(answer.headers).map(([name, value]) =>
      make('div', '', make('dt', '', properName(name)), make('dd', '', value)),
    );
    const several = Object.keys(statuses).length > 1;
    this.outcome.replaceChildren(
      make('p', 'tally', ...tally, make('span', 'quiet', `${tookMs} ms`)),
      ...(several ? [make('p', 'quiet', `headers of a ${answer.status}:`)] : []),
      headers.length > 0
        ? make('dl', '', ...headers)
        : make('p', 'quiet', 'no X-RateLimit headers: no limit was applied'),
    );
  }
}

/** The header's usual spelling. @param {string} name in lower case */
function properName(name) {
  return name
    .split('-')
    .map((word) => (word === 'ratelimit' ? 'RateLimit' : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('-');
}
