import { make, say } from '../../palette/elements.js';
import { makeSvg } from './dom.js';

/** @typedef {import('../pods/pods-tick.js').Bucket} Bucket */
/** @typedef {import('../pods/pods-tick.js').PodTick} PodTick */
/** @typedef {import('../pods/pods-tick.js').PodsTick} PodsTick */

/** Tokens, each of which can be counted. */
class Tokens {
  element = make('div', 'pods-tokens');

  /** @param {number} limit */
  constructor(limit) {
    this.element.setAttribute('role', 'img');
    this.draw({ limit, tokens: limit });
  }

  /** @param {Bucket} bucket */
  draw({ limit, tokens }) {
    const label = `${tokens} of ${limit} tokens`;
    if (this.element.getAttribute('aria-label') === label) return;
    this.element.setAttribute('aria-label', label);
    this.element.replaceChildren(...Array.from({ length: limit }, (_, i) => make('i', i < tokens ? 'left' : '')));
  }
}

export class PodBox {
  /** @param {string} name @param {number} limit */
  constructor(name, limit) {
    this.limit = limit;
    this.state = make('p', 'pods-state');
    this.tokens = new Tokens(limit);
    this.passed = make('b', '', '–');
    this.refused = make('b', '', '–');
    this.element = make(
      'li',
      'pods-pod',
      make('h3', '', name),
      this.state,
      this.tokens.element,
      make(
        'p',
        'pods-tally',
        make('span', 'pods-passed', this.passed, ' passed'),
        make('span', 'pods-refused', this.refused, ' refused'),
      ),
    );
  }

  /**
   * All that it shows is of one tick, in which it belongs to one way of counting.
   *
   * @param {PodTick} pod
   * @param {boolean} inMemory
   */
  draw({ state, problem, counting, bucket, result }, inMemory) {
    this.element.dataset['state'] = state;
    this.element.toggleAttribute('data-away', counting === 'outage');
    this.tokens.element.toggleAttribute('data-none', counting === 'together');
    this.tokens.draw(bucket ?? { limit: this.limit, tokens: this.limit });
    const decides = {
      alone: 'its own bucket',
      together: inMemory ? 'asks the store' : 'asks Redis',
      outage: `its share: ${bucket?.limit ?? '…'}`,
    };
    const texts = {
      asleep: 'not started',
      starting: problem === null ? 'starts…' : 'has ended, starts again',
      ended: 'has ended, starts again',
      up: decides[counting],
    };
    say(this.state, texts[state]);
    this.state.title = problem ?? '';
    say(this.passed, result === null ? '–' : `${result.passed}`);
    say(this.refused, result === null ? '–' : `${result.refused}`);
  }
}

export class StoreBox {
  /** @param {number} limit */
  constructor(limit) {
    this.limit = limit;
    this.title = make('h3', '', 'Redis');
    this.tokens = new Tokens(limit);
    this.state = make('p', 'pods-state');
    this.element = make('div', 'pods-store', make('div', '', this.title, this.state), this.tokens.element);
  }

  /** @param {PodsTick | null} tick @param {boolean} together @param {boolean} inMemory */
  draw(tick, together, inMemory) {
    const isAway = tick?.store.isUp === false;
    const bucket = tick?.store.bucket ?? null;
    say(this.title, inMemory ? 'One store' : 'Redis');
    this.tokens.element.toggleAttribute('data-none', isAway || !together);
    this.tokens.draw(bucket ?? { limit: this.limit, tokens: this.limit });
    say(this.state, isAway ? 'stopped' : together ? 'one bucket for all' : 'not used by the pods');
  }
}

/** Lines from each pod to the store. @param {number} pods */
export function lines(pods) {
  const at = (/** @type {number} */ i) => ((i + 0.5) * 300) / pods;
  const all = Array.from({ length: pods }, (_, i) => makeSvg('path', { d: `M${at(i)} 0 C${at(i)} 26 150 14 150 40` }));
  return makeSvg(
    'svg',
    { class: 'pods-lines', viewBox: '0 0 300 40', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    ...all,
  );
}
