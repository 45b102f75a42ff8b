import { make, makeSvg, say } from './dom.js';
import { ask } from './send.js';

/** @typedef {import('../live.js').Room} Room */
/** @typedef {import('../live.js').Tick} Tick */
/** @typedef {import('../pods/pods-tick.js').PodsDescription} PodsDescription */
/** @typedef {import('../pods/pods-tick.js').PodsTick} PodsTick */
/** @typedef {import('../pods/pods-tick.js').PodTick} PodTick */
/** @typedef {import('../pods/pods-tick.js').PodsResult} PodsResult */
/** @typedef {import('../pods/pods-tick.js').Counting} Counting */
/** @typedef {import('../pods/pods-tick.js').Bucket} Bucket */

/** What the section draws where this process starts no pods. @type {PodsDescription} */
const DRAWN = { pods: 3, each: 25, limit: 20, refillPerMinute: 20, share: 6 };

/** A quick answer needs no spinner. */
const SPINNER_AFTER_MS = 250;

/** The longest time until a tick shows what a request has changed. */
const STALE_MS = 600;

/** @type {Readonly<Record<Counting, string>>} */
const TITLES = { alone: 'Each counts alone', together: 'One Redis', outage: 'Redis is away' };

/** Three pods that count each alone or in one store, and what a new rider gets of them. */
export class Pods {
  /** @type {PodsTick | null} */
  tick = null;
  /** The number of the newest result that is drawn. */
  drawn = 0;
  /** Requests of this page that change how the pods count, and are not answered yet. */
  changing = 0;
  sending = false;

  /** @param {HTMLElement} place @param {Room} room */
  constructor(place, room) {
    this.works = room.pods !== null;
    this.facts = room.pods ?? DRAWN;
    const { pods, each, limit } = this.facts;
    this.alone = new Choice('Each counts alone', true, () => this.count(false));
    this.together = new Choice('One Redis', false, () => this.count(true));
    this.button = new SlowButton('primary', `Send ${each} to each`, 'Sending…', () => this.send());
    this.away = new SlowButton('', 'Redis goes away', 'One moment…', () => this.turn());
    this.notice = make('p', 'notice');
    this.notice.hidden = true;
    this.notice.setAttribute('role', 'alert');
    this.text = make('p', 'pods-text');
    this.boxes = Array.from({ length: pods }, (_, i) => new PodBox(`Pod ${i + 1}`, limit));
    this.store = new StoreBox(limit);
    this.cards = {
      alone: new Card('alone', this.facts),
      together: new Card('together', this.facts),
      outage: new Card('outage', this.facts),
    };
    this.spoken = make('p', 'unseen');
    this.spoken.setAttribute('role', 'status');
    this.picture = make(
      'div',
      'pods-picture',
      make('ul', 'pods-row', ...this.boxes.map(({ element }) => element)),
      lines(pods),
      this.store.element,
    );
    place.classList.add('pods', 'card');
    place.replaceChildren(
      make('h2', '', 'Three pods, one store'),
      make(
        'p',
        'pods-why',
        `A service runs as several processes, its pods. Each press is a new rider, whose limit is ${limit}, with ${each} requests to each of ${pods} pods at the same moment.`,
      ),
      make(
        'div',
        'pods-controls',
        make(
          'fieldset',
          'pods-segments',
          make('legend', 'unseen', 'How the pods count'),
          this.alone.element,
          this.together.element,
        ),
        this.button.element,
        this.away.element,
      ),
      this.notice,
      make(
        'div',
        'pods-body',
        make('div', 'pods-side', this.picture, this.text),
        make('div', 'pods-cards', ...Object.values(this.cards).map(({ element }) => element)),
      ),
      this.spoken,
    );
    this.draw();
  }

  /** @param {Tick} tick */
  hear({ pods }) {
    this.tick = pods;
    this.draw();
  }

  draw() {
    const { tick, works } = this;
    const ready = works && tick !== null;
    const isAway = tick?.store.isUp === false;
    const together = this.changing > 0 ? this.together.input.checked : (tick?.together ?? false);
    const inMemory = tick?.store.kind === 'memory';
    this.alone.show(!together, ready);
    this.together.show(together, ready);
    this.together.say(inMemory ? 'One store' : 'One Redis');
    this.button.enable(ready);
    this.away.enable(ready);
    const name = inMemory ? 'The store' : 'Redis';
    this.away.say(`${name} ${isAway ? 'comes back' : 'goes away'}`);
    const { dataset } = this.picture;
    dataset['counting'] = together ? 'together' : 'alone';
    dataset['store'] = isAway ? 'away' : 'up';
    this.picture.toggleAttribute('data-busy', this.sending);
    const results = Object.values(tick?.results ?? {}).flatMap((result) => (result === null ? [] : [result]));
    const newest = results.toSorted((a, b) => a.id - b.id).at(-1);
    for (const [i, box] of this.boxes.entries()) {
      box.draw(tick?.pods[i], together, inMemory, newest?.pods[i]);
    }
    this.store.draw(tick, together, inMemory);
    for (const [counting, card] of Object.entries(this.cards)) {
      card.draw(tick?.results[/** @type {Counting} */ (counting)] ?? null, newest?.counting === counting, inMemory);
    }
    say(
      this.text,
      works
        ? sentence(tick, together, this.facts)
        : 'The control room only watches, as in production: it starts no pods. CONTROL_ROOM=on enables them.',
    );
    this.text.toggleAttribute('data-away', isAway);
  }

  /** @param {boolean} together */
  async count(together) {
    this.changing++;
    this.draw();
    const done = await this.tell(() => ask('pods/counting', 'PUT', { together }));
    // A tick that left the server before the answer would turn the choice back for a moment.
    if (done) await new Promise((resolve) => setTimeout(resolve, STALE_MS));
    this.changing--;
    this.draw();
  }

  async send() {
    this.sending = true;
    say(this.spoken, ''); // so that the same result is spoken again
    this.draw();
    await this.tell(async () => {
      const result = /** @type {PodsResult} */ (await ask('pods/sends', 'POST', {}));
      this.remember(result);
      const inMemory = this.tick?.store.kind === 'memory';
      say(
        this.spoken,
        `${titleOf(result.counting, inMemory)}: ${headline(result)}: ${verdict(result, this.facts)}. ${details(result)}`,
      );
    });
    this.sending = false;
    this.draw();
  }

  async turn() {
    const up = this.tick?.store.isUp === false;
    const done = await this.tell(() => ask('pods/redis', 'PUT', { up }));
    if (done && this.tick !== null) {
      this.tick = { ...this.tick, store: { ...this.tick.store, isUp: up } };
      say(this.spoken, sentence(this.tick, this.tick.together, this.facts));
    }
    this.draw();
  }

  /** Draws a result before the next tick has it. @param {PodsResult} result */
  remember(result) {
    if (this.tick !== null) this.tick = { ...this.tick, results: { ...this.tick.results, [result.counting]: result } };
  }

  /** Shows the problem of a request that fails. @param {() => Promise<unknown>} job @returns whether it succeeded */
  async tell(job) {
    let problem = '';
    try {
      await job();
    } catch (error) {
      problem = /** @type {Error} */ (error).message;
    }
    this.notice.hidden = problem === '';
    say(this.notice, problem);
    return problem === '';
  }
}

/** One of two ways to count. */
class Choice {
  /** @param {string} text @param {boolean} checked @param {() => void} onChoice */
  constructor(text, checked, onChoice) {
    this.input = make('input', '');
    this.input.type = 'radio';
    this.input.name = 'pods-counting';
    this.input.checked = checked;
    this.input.addEventListener('change', onChoice);
    this.text = make('span', '', text);
    this.element = make('label', '', this.input, this.text);
  }

  /** @param {boolean} checked @param {boolean} enabled */
  show(checked, enabled) {
    this.input.checked = checked;
    this.input.disabled = !enabled;
  }

  /** @param {string} text */
  say(text) {
    say(this.text, text);
  }
}

/** A button that shows a spinner while its answer takes long, and keeps the focus meanwhile. */
class SlowButton {
  busy = false;

  /** @param {string} className @param {string} text @param {string} busyText @param {() => Promise<void>} onPress */
  constructor(className, text, busyText, onPress) {
    this.words = text;
    this.busyText = busyText;
    this.text = make('span', '', text);
    this.element = make('button', `pods-slow ${className}`, make('span', 'pods-spinner'), this.text);
    this.element.type = 'button';
    this.element.addEventListener('click', () => void this.press(onPress));
  }

  /** @param {boolean} enabled */
  enable(enabled) {
    this.element.disabled = !enabled;
  }

  /** @param {string} words */
  say(words) {
    this.words = words;
    if (!this.element.hasAttribute('data-slow')) say(this.text, words);
  }

  /** @param {() => Promise<void>} onPress */
  async press(onPress) {
    if (this.busy) return;
    this.busy = true;
    // Not `disabled`, which would take the focus from who uses the keyboard.
    this.element.setAttribute('aria-disabled', 'true');
    const spinner = setTimeout(() => {
      this.element.toggleAttribute('data-slow', true);
      say(this.text, this.busyText);
    }, SPINNER_AFTER_MS);
    await onPress();
    clearTimeout(spinner);
    this.busy = false;
    this.element.removeAttribute('aria-disabled');
    this.element.removeAttribute('data-slow');
    say(this.text, this.words);
  }
}

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

class PodBox {
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
   * @param {PodTick | undefined} pod
   * @param {boolean} together
   * @param {boolean} inMemory
   * @param {PodsResult['pods'][number] | undefined} result
   */
  draw(pod, together, inMemory, result) {
    const state = pod?.state ?? 'asleep';
    const away = together && pod?.reachesStore === false;
    const bucket = pod?.bucket ?? null;
    const hasOwn = !together || away;
    const { dataset } = this.element;
    dataset['state'] = state;
    this.element.toggleAttribute('data-away', away);
    this.tokens.element.toggleAttribute('data-none', !hasOwn);
    this.tokens.draw(hasOwn && bucket ? bucket : { limit: this.limit, tokens: this.limit });
    const texts = {
      asleep: 'not started',
      starting: pod?.problem ? 'ended, starts again' : 'starts…',
      ended: 'ended, starts again',
      up: away
        ? `its share: ${bucket?.limit ?? '…'}`
        : together
          ? inMemory
            ? 'asks the store'
            : 'asks Redis'
          : 'its own bucket',
    };
    say(this.state, texts[state]);
    this.state.title = pod?.problem ?? '';
    say(this.passed, result ? `${result.passed}` : '–');
    say(this.refused, result ? `${result.refused}` : '–');
  }
}

class StoreBox {
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
    say(this.state, isAway ? 'away' : together ? 'one bucket for all' : 'not used');
  }
}

/** The last result of a way of counting, large. */
class Card {
  /** @param {Counting} counting @param {PodsDescription} facts */
  constructor(counting, facts) {
    this.counting = counting;
    this.facts = facts;
    this.title = make('h3', '', TITLES[counting]);
    this.big = make('b', 'pods-big', '–');
    this.of = make('span', '', ` of ${facts.pods * facts.each} passed`);
    this.verdict = make('p', 'pods-verdict', 'not tried yet');
    this.passed = make('div', 'pods-part');
    const mark = make('div', 'pods-mark');
    mark.style.insetInlineStart = `${(100 * facts.limit) / (facts.pods * facts.each)}%`;
    this.bar = make('div', 'pods-bar', this.passed, mark);
    this.bar.setAttribute('aria-hidden', 'true');
    this.details = make('p', 'pods-details', `the mark is the limit, ${facts.limit}`);
    this.element = make(
      'section',
      'pods-card',
      this.title,
      make('p', 'pods-count', this.big, this.of),
      this.bar,
      this.verdict,
      this.details,
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
      say(this.details, `the mark is the limit, ${this.facts.limit}`);
      this.passed.style.inlineSize = '0';
      return;
    }
    say(this.big, `${result.passed}`);
    say(this.of, ` of ${result.sent} passed`);
    this.passed.style.inlineSize = `${(100 * result.passed) / result.sent}%`;
    say(this.verdict, verdict(result, this.facts));
    say(this.details, details(result));
  }
}

/** @param {Counting} counting @param {boolean} inMemory */
function titleOf(counting, inMemory) {
  return inMemory
    ? TITLES[counting].replace('One Redis', 'One store').replace('Redis is', 'The store is')
    : TITLES[counting];
}

/** @param {PodsResult} result */
function headline({ passed, sent }) {
  return `${passed} of ${sent} passed`;
}

/** How often the limit passed, without what refilled. @param {PodsResult} result @param {PodsDescription} facts */
function verdict({ passed, refilled, failed, counting, decidedByShare, sent }, { limit }) {
  const counted = passed - refilled;
  const more = refilled > 0 ? ` (${counted} + ${refilled} refilled)` : '';
  if (failed === sent) return 'no pod answered';
  if (counting === 'outage' && decidedByShare < sent - failed) {
    return `the store went away or came back meanwhile${counted > limit ? ': more than the limit' : ''}`;
  }
  if (counted === limit) return `the limit${more}`;
  if (counted < limit) return counting === 'outage' ? 'a share from each, below the limit' : `below the limit${more}`;
  const times = counted / limit;
  const word = { 2: 'twice', 3: 'three times' }[times] ?? `${times.toFixed(1)} times`;
  return `${word} the limit${more}`;
}

/** @param {PodsResult} result */
function details({ pods, refused, failed, refusal }) {
  const each = pods.map(({ passed }) => passed).join(' + ');
  const without = failed > 0 ? `; ${failed} without an answer` : '';
  if (refusal === null) return `${each}; ${refused} refused${without}`;
  return `${each}; ${refused} refused by “${refusal.policy}”, Retry-After: ${refusal.retryAfterS}${without}`;
}

/** What decides now, in a sentence. @param {PodsTick | null} tick @param {boolean} together @param {PodsDescription} facts */
function sentence(tick, together, { pods, limit, share }) {
  if (tick === null) return 'Waiting for the first figures.';
  const { phase, problem, store } = tick;
  if (phase === 'asleep') return 'Three processes start with the first press. That takes a few seconds.';
  if (phase === 'starting') return 'Three processes start, each with its own connections…';
  if (phase === 'unavailable') return `The pods are not available: ${problem ?? 'they did not start'}.`;
  const name = store.kind === 'redis' ? 'Redis' : 'The store';
  const where =
    store.kind === 'redis'
      ? 'The pods are three processes.'
      : `The pods are three applications in one process: ${store.problem ?? 'no Redis'}.`;
  if (!together) {
    return store.isUp
      ? `${where} Each counts in its own memory, so three pods admit three limits.`
      : `${where} ${name} is away, and pods that count alone do not notice.`;
  }
  if (!store.isUp) {
    return `${name} is away. Each pod decides with its share of the limit (localShare: ${pods}): ${share} of ${limit}, so a new rider gets ${pods * share} from all three, and no error.`;
  }
  if (tick.pods.some(({ reachesStore }) => !reachesStore))
    return `${name} is back, and empty. The pods find it by themselves.`;
  return store.kind === 'redis'
    ? `${where} All count in one Redis, which this page has started on this machine.`
    : `${where} All count in one store in its memory.`;
}

/** Lines from each pod to the store. @param {number} pods */
function lines(pods) {
  const at = (/** @type {number} */ i) => ((i + 0.5) * 300) / pods;
  const all = Array.from({ length: pods }, (_, i) => makeSvg('path', { d: `M${at(i)} 0 C${at(i)} 26 150 14 150 40` }));
  return makeSvg(
    'svg',
    { class: 'pods-lines', viewBox: '0 0 300 40', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    ...all,
  );
}
