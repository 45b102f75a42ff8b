import { make, say } from './dom.js';
import { tell } from './lane-caption.js';
import { overrideText, OVERRIDDEN, planText } from './overrides.js';
import { ALGORITHMS, pictureOf } from './pictures.js';

/** @typedef {import('../policy-state.js').PolicyParameters} PolicyParameters */
/** @typedef {import('../live.js').PolicyTick} PolicyTick */

/** A policy as the rider's next request finds it: its picture, a caption, the plan and the override. Every text has a place of its own. */
export class PolicyView {
  /** @type {PolicyTick | null | undefined} */
  tick;
  /** @type {string | undefined} */
  state;
  /** @type {number | undefined} */
  heldAt;

  /** @param {PolicyParameters} policy */
  constructor(policy) {
    this.picture = pictureOf(policy.algorithm);
    this.strong = make('b', 'amount');
    this.rest = make('span', 'rest');
    this.plan = make('i', 'whose plan');
    this.override = make('p', 'override');
    this.plan.hidden = this.override.hidden = true;
    const whose = make('i', policy.shared ? 'whose shared' : 'whose', policy.shared ? 'all clients' : 'one client');
    const name = policy.name === 'default' ? [] : [make('code', 'name', policy.name), ' '];
    this.element = make(
      'div',
      `policy ${policy.algorithm}`,
      make('h4', '', ALGORITHMS[policy.algorithm], ' ', ...name, whose, ' ', this.plan),
      this.picture.element,
      make('p', 'caption', this.strong, this.rest),
      make('div', 'reserved', this.override),
    );
    this.element.dataset['policy'] = policy.name;
  }

  /** The next tick is another rider's or another route's, so a difference is no traffic. */
  forget() {
    this.state = undefined;
    this.heldAt = undefined;
  }

  /** @param {PolicyTick | null | undefined} tick @param {number} at */
  hear(tick, at) {
    this.tick = tick;
    const state = JSON.stringify(tick?.state);
    // During traffic the state changes between two ticks. The picture keeps the last known state until the next tick.
    this.heldAt = this.state === undefined || this.state === state ? undefined : at;
    this.state = state;
    const plan = planText(tick?.plan);
    this.plan.hidden = plan === '';
    say(this.plan, plan);
    const { override } = tick ?? {};
    this.override.hidden = !override;
    say(this.override, override ? overrideText(override) : '');
  }

  /** @param {number} now by the clock of the store */
  draw(now) {
    const { tick, element } = this;
    const { change } = tick?.override ?? {};
    const word = change?.exempt ? 'exempt' : change?.blocked ? 'blocked' : undefined;
    element.toggleAttribute('data-unknown', word === undefined && !tick?.state);
    element.toggleAttribute('data-uncounted', word !== undefined);
    if (word !== undefined) {
      tell(this.strong, [word]);
      tell(this.rest, [OVERRIDDEN[word]]);
      element.removeAttribute('data-full');
    } else if (tick?.state && tick.numbers) {
      const caption = this.picture.draw(tick.state, this.heldAt ?? now, tick.numbers);
      tell(this.strong, caption.strong);
      tell(this.rest, caption.more);
      element.dataset['full'] = caption.full.toFixed(3);
    }
  }
}
