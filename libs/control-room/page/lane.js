import { make, say } from './dom.js';
import { PolicyView } from './lane-policy.js';
import { Result } from './lane-result.js';
import { refuserText } from './lane-rows.js';
import { overrideText } from './overrides.js';
import { send } from './send.js';

/** @typedef {import('../live.js').LaneDescription} LaneDescription */
/** @typedef {import('../live.js').LaneTick} LaneTick */

/** A faster answer needs no sign that it is under way. */
const SLOW_MS = 300;
/** The window of the rates. */
const RATE_MS = 1000;

/**
 * @typedef {object} LaneOptions
 * @property {string} [title] of a row with several routes. Default: the lane's
 * @property {readonly string[]} [elsewhere] names of shared policies that are drawn elsewhere. Default: none
 * @property {(text: string) => void} [speak] tells screen readers. Default: nobody
 */

/**
 * A row: one limited route, or several whose policies differ in numbers only, of which the viewer chooses one. It draws the state of the
 * policies and the traffic, and its buttons send requests.
 */
export class Lane {
  /** The last ticks of each route. @type {Map<string, LaneTick>} */
  ticks = new Map();
  /** Of each route. @type {Map<string, { at: number, passed: number, rejected: number }[]>} */
  counts = new Map();
  /** A newer send makes the results of earlier ones void, and so does another rider or route. */
  sends = 0;
  /** @type {Map<HTMLButtonElement, number>} */
  pending = new Map();

  /**
   * @param {LaneDescription | readonly LaneDescription[]} descriptions
   * @param {boolean} mayRequest
   * @param {string} rider whose limits are drawn, and who sends the requests
   * @param {LaneOptions} [options]
   */
  constructor(descriptions, mayRequest, rider, { title, elsewhere = [], speak = () => undefined } = {}) {
    /** @type {readonly LaneDescription[]} */
    this.routes = Array.isArray(descriptions) ? descriptions : [descriptions];
    const first = /** @type {LaneDescription} */ (this.routes[0]);
    this.route = first;
    this.id = first.id;
    this.title = title ?? first.title;
    this.rider = rider;
    this.speak = speak;
    /** Undefined for a policy that is drawn elsewhere. */
    this.views = first.policies.map((policy) => (elsewhere.includes(policy.name) ? undefined : new PolicyView(policy)));
    this.passed = make('b', 'figure rate');
    this.rejected = make('b', 'figure rate');
    this.traffic = make(
      'p',
      'traffic',
      make('span', 'key passed', this.passed, ' /s let through'),
      make('span', 'key rejected', this.rejected, ' /s refused'),
    );
    this.method = make('span', 'method');
    this.path = make('span', '');
    this.result = new Result(this.title);
    this.result.close.addEventListener('click', () => this.dismiss());
    this.buttons = [this.button(false), this.button(true)];
    for (const button of this.buttons) button.disabled = !mayRequest;
    this.element = make(
      'article',
      'card lane',
      make(
        'div',
        'about',
        make('h3', '', this.title),
        ...(this.routes.length > 1 ? [this.choice()] : []),
        make('code', '', this.method, ' ', this.path),
        make('div', 'buttons', ...this.buttons),
        this.traffic,
      ),
      make(
        'div',
        'policies',
        ...this.views.flatMap((view) => (view === undefined ? [] : [view.element])),
        ...also(elsewhere, first),
      ),
      this.result.element,
    );
    this.element.dataset['lane'] = this.id;
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && this.result.isShown) this.dismiss();
    });
    this.name();
    this.drawTraffic();
  }

  /** The override of each policy that is drawn here, in words. */
  get overrides() {
    const policies = this.ticks.get(this.route.id)?.riders[this.rider] ?? [];
    return policies.flatMap((policy, i) =>
      policy?.override && this.views[i] !== undefined ? [overrideText(policy.override)] : [],
    );
  }

  /** @param {string} rider */
  choose(rider) {
    this.rider = rider;
    this.turn();
  }

  /** @param {LaneTick} tick @param {number} at @param {string} [route] its ID. Default: of the first route */
  hear(tick, at, route = this.id) {
    this.ticks.set(route, tick);
    const counts = this.counts.get(route) ?? [];
    this.counts.set(route, counts);
    counts.push({ at, passed: tick.passed, rejected: tick.rejected });
    while ((counts[1]?.at ?? Infinity) <= at - RATE_MS) counts.shift();
    if (route !== this.route.id) return;
    this.see(at);
    this.drawTraffic();
  }

  /** @param {number} now by the clock of the store */
  draw(now) {
    for (const view of this.views) view?.draw(now);
    this.result.draw();
  }

  /** The policies of the chosen route and rider. @param {number} at */
  see(at) {
    const policies = this.ticks.get(this.route.id)?.riders[this.rider];
    for (const [i, view] of this.views.entries()) view?.hear(policies?.[i], at);
  }

  /** Shows another rider or route. What was sent before is not theirs. */
  turn() {
    this.sends++;
    this.result.dismiss();
    for (const view of this.views) view?.forget();
    this.see(0);
    this.drawTraffic();
  }

  drawTraffic() {
    const counts = this.counts.get(this.route.id) ?? [];
    const [from, to] = [counts[0], counts.at(-1)];
    const seconds = Math.max(RATE_MS, (to?.at ?? 0) - (from?.at ?? 0)) / 1000;
    const passed = Math.round(((to?.passed ?? 0) - (from?.passed ?? 0)) / seconds);
    const rejected = Math.round(((to?.rejected ?? 0) - (from?.rejected ?? 0)) / seconds);
    say(this.passed, String(passed));
    say(this.rejected, String(rejected));
    // It keeps its place.
    this.traffic.classList.toggle('idle', passed + rejected === 0);
  }

  /** The texts that follow the route. */
  name() {
    const { id, title, method, path, more } = this.route;
    this.element.dataset['route'] = id;
    say(this.method, method);
    say(this.path, path);
    const [one, many] = id === 'location' ? ['Send 1 × 30', `Send ${more} × 500`] : ['Send 1', `Send ${more}`];
    for (const [i, text] of [one, many].entries()) {
      const button = /** @type {HTMLButtonElement} */ (this.buttons[i]);
      say(/** @type {Node} */ (button.firstChild), text);
      button.setAttribute('aria-label', `${text}: ${title}`);
    }
  }

  choice() {
    const options = this.routes.map((route) => {
      const radio = make('input', '');
      radio.type = 'radio';
      radio.name = `route-${this.id}`;
      radio.value = route.id;
      radio.checked = route === this.route;
      radio.addEventListener('change', () => {
        this.route = route;
        this.name();
        this.turn();
      });
      return make('label', '', radio, make('span', '', route.title));
    });
    const group = make('div', 'routes', ...options);
    group.setAttribute('role', 'radiogroup');
    group.setAttribute('aria-label', 'Route');
    return group;
  }

  /** @param {boolean} many */
  button(many) {
    const button = make('button', 'send', make('span', ''), make('span', 'spinner'));
    button.type = 'button';
    button.addEventListener('click', () => void this.try(button, many));
    return button;
  }

  /** @param {HTMLButtonElement} button @param {boolean} many */
  async try(button, many) {
    button.focus(); // Safari does not focus a button on a click, and Escape must reach the lane
    const number = ++this.sends;
    const { route, rider } = this;
    const slow = setTimeout(() => button.setAttribute('aria-busy', 'true'), SLOW_MS);
    this.pending.set(button, (this.pending.get(button) ?? 0) + 1);
    let sentence;
    try {
      const result = await send(route.id, rider, many);
      if (number !== this.sends) return; // a newer send, or another rider or route
      sentence = `${this.result.show(result, (policy) => refuserText(policy, route.policies, rider))}.`;
    } catch (error) {
      if (number !== this.sends) return;
      sentence = /** @type {Error} */ (error).message;
      this.result.fail(sentence);
    } finally {
      clearTimeout(slow);
      const pending = (this.pending.get(button) ?? 1) - 1;
      this.pending.set(button, pending);
      if (pending === 0) button.removeAttribute('aria-busy');
    }
    this.speak(`${route.title}: ${sentence}`);
  }

  dismiss() {
    // The close button disappears, and the focus must not be lost.
    if (document.activeElement === this.result.close) this.buttons.find((button) => !button.disabled)?.focus();
    this.result.dismiss();
  }
}

/**
 * Names the policies that a lane shares with others, and links to the places where they are drawn.
 *
 * @param {readonly string[]} elsewhere
 * @param {LaneDescription} lane
 */
function also(elsewhere, { policies }) {
  const names = policies.flatMap(({ name }) => (elsewhere.includes(name) ? [name] : []));
  return names.map((name) => {
    const link = make('a', '', name);
    link.href = `#${sharedId(name)}`;
    return make('p', 'also', 'Also limited by ', link, ', which all clients share.');
  });
}

/** The ID of the place where a shared policy is drawn. @param {string} policy */
export function sharedId(policy) {
  return `shared-${policy}`;
}
