import { say } from '../../palette/elements.js';
import { byId, shown } from './dom.js';
import { turn } from './send.js';
import { tabulate } from './table.js';
import { busyText, captionOf, codeOf, isRunning, recoveryOf, stateOf, storyOf } from './words.js';
import { World } from './worlds.js';

/** @typedef {import('../live.js').Room} Room */
/** @typedef {import('../live.js').Tick} Tick */
/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgePhase} SurgePhase */
/** @typedef {import('../stage/surge-tick.js').SurgeTick} SurgeTick */
/** @typedef {import('./speaker.js').Speaker} Speaker */

const IDS = /** @type {const} */ (['left', 'right']);
/** A warning stays this long, so that nobody misses it and nothing flickers. */
const BUSY_MS = 5000;
/** Waiting requests climb so often, and with reduced motion so often. */
const FRAME_MS = 100;
const CALM_FRAME_MS = 1000;
const STARTING = 'The rush starts…';

/** The rush: its button, the state in words, and the two worlds. */
export class Stage {
  button = /** @type {HTMLButtonElement} */ (byId('run'));
  worlds = {
    left: new World('left', (error) => this.complain(error)),
    right: new World('right', (error) => this.complain(error)),
  };
  /** @type {SurgeDescription | null} */
  surge = null;
  /** @type {SurgePhase | undefined} */
  phase;
  /** The run that was asked for has not begun yet. */
  pressed = false;
  busyAt = -Infinity;
  isBusy = false;
  /** Whether Redis was stopped. */
  away = false;
  /** Milliseconds of the run at `heardAt` of this page's clock. */
  atMs = 0;
  heardAt = 0;
  /** Draws what moves, while something moves. @type {ReturnType<typeof setInterval> | undefined} */
  timer;
  calm = matchMedia('(prefers-reduced-motion: reduce)');

  /** @param {Speaker} speaker */
  constructor(speaker) {
    this.speaker = speaker;
    this.button.addEventListener('click', () => void this.press());
    byId('world-figures').addEventListener('toggle', () => this.tabulate());
  }

  /** @param {Room} room */
  enter({ surge, history }) {
    this.surge = surge;
    this.phase = undefined; // of this connection
    this.pressed = false;
    this.atMs = 0;
    byId('stage').hidden = surge === null;
    const watch = byId('watch');
    watch.hidden = surge !== null;
    if (surge === null) {
      say(watch, 'This process starts no services for the rush, as in production. CONTROL_ROOM=on lets it.');
      return;
    }
    for (const id of IDS) this.worlds[id].recall(history?.[id]);
    say(byId('code'), codeOf(surge));
    this.tabulate();
  }

  /** @param {Tick} tick */
  hear({ surge: tick }) {
    const { surge, worlds } = this;
    if (tick === null || surge === null) return;
    const { phase } = tick;
    const live = isRunning(phase) || phase === 'ending';
    const begins = this.phase !== undefined && !isRunning(this.phase) && this.phase !== 'ending';
    if (isRunning(phase) && (begins || tick.atMs < this.atMs)) for (const id of IDS) worlds[id].recall(undefined);
    this.atMs = tick.atMs;
    this.heardAt = performance.now();
    const verdictOf = (/** @type {'surge' | 'recovery'} */ name) =>
      live ? undefined : tick.verdicts.find((verdict) => verdict.phase === name);
    const [rush, recovery] = [verdictOf('surge'), verdictOf('recovery')];
    for (const id of IDS) {
      const world = worlds[id];
      if (tick.worlds !== null) world.hear(tick.worlds[id], live);
      const hasRecovered = id === 'left' && recovery?.busy === null && world.had === false && world.sample?.enforced;
      const recovered = hasRecovered === true ? recoveryOf(recovery.worlds.left) : '';
      world.show(surge, phase, rush === undefined ? '' : storyOf(rush.worlds[id]), recovered);
    }
    document.body.dataset['phase'] = phase;
    this.showButton(tick);
    this.showBusy(tick, surge);
    const { left, right } = worlds;
    const state = stateOf(tick, surge, { left: left.had, right: right.had });
    say(byId('state'), state);
    const away = isRunning(phase) && left.sample?.redisAway === true;
    if ((phase !== this.phase && this.phase !== undefined) || (away && !this.away)) this.speaker.tell(state);
    this.phase = phase;
    this.away = away;
    this.showNow();
    if (isRunning(phase)) this.speaker.mention(() => this.sentence());
    this.tabulate();
    this.animate(live);
  }

  /** What both charts show. */
  sentence() {
    const { left, right } = this.worlds;
    const { surge } = this;
    if (left.sample === undefined || right.sample === undefined || surge === null) return '';
    return `Left: ${captionOf(left.sample, surge)} Right: ${captionOf(right.sample, surge)}`;
  }

  /** @param {SurgeTick} tick */
  showButton({ phase, secondsLeft }) {
    const { button } = this;
    const running = isRunning(phase);
    // A failure that was there before the button was pressed is no answer to it.
    if (running || (phase === 'unavailable' && this.phase !== 'unavailable')) this.pressed = false;
    button.classList.toggle('stop', running);
    button.disabled = false;
    this.rest(phase === 'ending' || this.pressed);
    const idle = phase === 'unavailable' ? 'Try again' : 'Start the rush';
    const text = running ? `Stop, ${shown(secondsLeft)} s left` : phase === 'ending' ? 'The last answers…' : idle;
    say(button, this.pressed ? STARTING : text);
  }

  /** @param {SurgeTick} tick @param {SurgeDescription} surge */
  showBusy({ busy }, { cores }) {
    const now = performance.now();
    if (busy !== null) {
      // Its first words stay: others would move the link behind them.
      if (!this.isBusy) {
        const text = busyText(busy, cores, 'now');
        this.speaker.tell(text);
        say(/** @type {Element} */ (byId('busy').firstElementChild), text);
      }
      this.busyAt = now;
    }
    this.isBusy = now - this.busyAt <= BUSY_MS;
  }

  /** One sentence stands in the place beside the button: what went wrong, else that the machine is too busy, else what happens. */
  showNow() {
    const problem = byId('controls-notice');
    const isWrong = problem.textContent !== '';
    problem.hidden = !isWrong;
    byId('busy').hidden = isWrong || !this.isBusy;
    byId('state').hidden = isWrong || this.isBusy;
  }

  /** A button that is disabled for a moment would lose the focus. @param {boolean} isResting */
  rest(isResting) {
    this.button.setAttribute('aria-disabled', String(isResting));
  }

  /** Starts or stops a run. The server starts it as soon as the worlds are ready. */
  async press() {
    const on = this.phase === undefined || !isRunning(this.phase);
    if (this.button.getAttribute('aria-disabled') === 'true') return;
    if (on) {
      this.pressed = true;
      this.rest(true);
      say(this.button, STARTING);
      // What moves for a minute is to be seen.
      this.button.scrollIntoView({ behavior: this.calm.matches ? 'auto' : 'smooth', block: 'start' });
    }
    try {
      await turn('surge', on);
      this.complain('');
    } catch (error) {
      this.pressed = false;
      this.complain(/** @type {Error} */ (error).message);
    }
  }

  /** @param {string} text */
  complain(text) {
    say(byId('controls-notice'), text);
    this.showNow();
  }

  tabulate() {
    tabulate([this.worlds.left.samples, this.worlds.right.samples]);
  }

  /** Nothing is drawn while nothing moves. @param {boolean} live */
  animate(live) {
    if (!live) {
      clearInterval(this.timer);
      this.timer = undefined;
      this.draw();
    } else {
      this.timer ??= setInterval(() => this.draw(), this.calm.matches ? CALM_FRAME_MS : FRAME_MS);
    }
  }

  draw() {
    if (document.hidden) return;
    const atMs = this.timer === undefined ? this.atMs : this.atMs + performance.now() - this.heardAt;
    for (const id of IDS) this.worlds[id].picture.draw(atMs);
  }
}
