import { byId, make, say, shown } from './dom.js';
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
const STARTING = 'The rush starts …';

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
  told = 0;
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
      say(watch, 'This page only watches, as in production: it starts no processes. CONTROL_ROOM=on enables them.');
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
    const rush = live ? undefined : tick.verdicts.find((verdict) => verdict.phase === 'surge')?.worlds;
    for (const id of IDS) {
      if (tick.worlds !== null) worlds[id].hear(tick.worlds[id], live);
      const end = rush?.[id];
      worlds[id].show(surge, phase, end, end === undefined ? '' : storyOf(end));
    }
    document.body.dataset['phase'] = phase;
    this.showButton(tick);
    this.showBusy(tick, surge);
    const { left, right } = worlds;
    const rates = left.rate === undefined || right.rate === undefined ? null : { left: left.rate, right: right.rate };
    const state = stateOf(tick, surge, rates);
    say(byId('state'), state);
    const away = isRunning(phase) && left.sample?.redisAway === true;
    if ((phase !== this.phase && this.phase !== undefined) || (away && !this.away)) this.speaker.tell(state);
    this.phase = phase;
    this.away = away;
    this.showVerdicts(tick, surge);
    if (isRunning(phase)) this.speaker.mention(() => this.sentence());
    this.tabulate();
    this.animate(live);
  }

  /** What both charts show. */
  sentence() {
    const { left, right } = this.worlds;
    if (left.sample === undefined || right.sample === undefined) return '';
    return `Left: ${captionOf(left.sample)} Right: ${captionOf(right.sample)}`;
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
    const text = running ? `Stop, ${shown(secondsLeft)} s left` : phase === 'ending' ? 'The last answers …' : idle;
    say(button, this.pressed ? STARTING : text);
  }

  /** @param {SurgeTick} tick @param {SurgeDescription} surge */
  showBusy({ busy }, { cores }) {
    const now = performance.now();
    const element = byId('busy');
    if (busy !== null) {
      const text = busyText(busy, cores, 'now');
      if (element.hidden) this.speaker.tell(text);
      this.busyAt = now;
      say(/** @type {Element} */ (element.firstElementChild), text);
    }
    element.hidden = now - this.busyAt > BUSY_MS;
  }

  /** What the switch of the left world has changed. @param {SurgeTick} tick @param {SurgeDescription} surge */
  showVerdicts({ verdicts }, { cores }) {
    if (verdicts.length === this.told && this.told > 0) return;
    this.told = verdicts.length;
    const recovery = verdicts.find(({ phase }) => phase === 'recovery');
    byId('verdicts').replaceChildren(
      ...(recovery === undefined
        ? []
        : [
            make(
              'p',
              '',
              recovery.busy === null ? recoveryOf(recovery.worlds.left) : busyText(recovery.busy, cores, 'then'),
            ),
          ]),
    );
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
    const element = byId('controls-notice');
    element.hidden = text === '';
    say(element, text);
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
    for (const id of IDS) this.worlds[id].chart.draw(atMs);
  }
}
