import { make, say } from '../../palette/elements.js';
import { lines, PodBox, StoreBox } from './pods-boxes.js';
import { Card } from './pods-card.js';
import { Choice, SlowButton } from './pods-controls.js';
import { details, headline, sentence, titleOf, verdict } from './pods-words.js';
import { ask } from './send.js';

/** @typedef {import('../live.js').Room} Room */
/** @typedef {import('../live.js').Tick} Tick */
/** @typedef {import('./redis-switch.js').RedisSwitch} RedisSwitch */
/** @typedef {import('../pods/pods-tick.js').PodsDescription} PodsDescription */
/** @typedef {import('../pods/pods-tick.js').PodsTick} PodsTick */
/** @typedef {import('../pods/pods-tick.js').PodsResult} PodsResult */
/** @typedef {import('../pods/pods-tick.js').Counting} Counting */

/** What the section draws where this process starts no pods. @type {PodsDescription} */
const DRAWN = { pods: 3, each: 25, limit: 20, refillPerMinute: 20, share: 6 };

/** A pod before the first tick. @type {import('../pods/pods-tick.js').PodTick} */
const ASLEEP = { state: 'asleep', problem: null, counting: 'alone', bucket: null, result: null };

/** The longest time until a tick shows what a request has changed. */
const STALE_MS = 600;

/** Three pods that count each alone or in one store, and what a new rider gets of them. */
export class Pods {
  /** @type {PodsTick | null} */
  tick = null;
  /** Requests of this page that change how the pods count, and are not answered yet. */
  changing = 0;
  sending = false;

  /** @param {HTMLElement} place @param {Room} room @param {RedisSwitch} redis */
  constructor(place, room, redis) {
    this.works = room.pods !== null;
    this.facts = room.pods ?? DRAWN;
    const { pods, each, limit } = this.facts;
    this.alone = new Choice('No shared store', true, () => this.count(false));
    this.together = new Choice('One Redis', false, () => this.count(true));
    this.button = new SlowButton('primary', `Send ${each} to each`, 'Sending…', () => this.send());
    this.stop = redis.button();
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
      make(
        'div',
        'pods-head',
        make('h2', '', 'Three pods and Redis'),
        make(
          'p',
          '',
          `Pods are processes of one service. Each press is a new rider with ${each} requests to each, at once. The mark is the limit, ${limit}.`,
        ),
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
        this.stop.element,
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
    const wasUp = this.tick?.store.isUp ?? pods?.store.isUp;
    this.tick = pods;
    // The button stands beside the worlds as well, so the tick tells.
    if (pods !== null && pods.store.isUp !== wasUp) say(this.spoken, sentence(pods, pods.together, this.facts));
    this.draw();
  }

  draw() {
    const { tick, works } = this;
    const ready = works && tick !== null;
    const isAway = tick?.store.isUp === false;
    const together = tick?.together ?? false;
    // The choice alone shows a press before the server knows of it.
    const chosen = this.changing > 0 ? this.together.input.checked : together;
    const inMemory = tick?.store.kind === 'memory';
    this.alone.show(!chosen, ready);
    this.together.show(chosen, ready);
    this.together.say(inMemory ? 'One store' : 'One Redis');
    this.button.enable(ready);
    const { dataset } = this.picture;
    dataset['counting'] = together ? 'together' : 'alone';
    dataset['store'] = isAway ? 'away' : 'up';
    this.picture.toggleAttribute('data-busy', this.sending);
    const results = Object.values(tick?.results ?? {}).flatMap((result) => (result === null ? [] : [result]));
    const newest = results.toSorted((a, b) => a.id - b.id).at(-1);
    for (const [i, box] of this.boxes.entries()) box.draw(tick?.pods[i] ?? ASLEEP, inMemory);
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
      const inMemory = this.tick?.store.kind === 'memory';
      say(
        this.spoken,
        `${titleOf(result.counting, inMemory)}: ${headline(result)}: ${verdict(result, this.facts)}. ${details(result)}`,
      );
    });
    this.sending = false;
    this.draw();
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
