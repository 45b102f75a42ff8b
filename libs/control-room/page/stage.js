import { byId, say, shown } from './dom.js';
import { turn } from './send.js';
import { tabulate } from './table.js';
import { Score } from './tiles.js';
import { Verdicts } from './verdicts.js';
import { busyText, captionOf, stateOf } from './words.js';
import { isRunning, TITLES, World } from './worlds.js';

/** @typedef {import('../live.js').Room} Room */
/** @typedef {import('../live.js').Tick} Tick */
/** @typedef {import('../stage/surge-tick.js').SurgeDescription} SurgeDescription */
/** @typedef {import('../stage/surge-tick.js').SurgePhase} SurgePhase */
/** @typedef {import('../stage/surge-tick.js').SurgeTick} SurgeTick */
/** @typedef {import('./speaker.js').Speaker} Speaker */

/** A warning stays this long, so that nobody misses it and nothing flickers. */
const BUSY_MS = 5000;
const STARTING = 'The worlds start …';
/** Above the demand, so that the stack does not touch the chart's upper end. */
const HEADROOM = 1.15;

/** The surge: the button, the state in words, the map, the two worlds and the verdicts. */
export class Stage {
  button = /** @type {HTMLButtonElement} */ (byId('run'));
  worlds = {
    left: new World('left', (error) => this.complain(error)),
    right: new World('right', (error) => this.complain(error)),
  };
  score = new Score(/** @type {HTMLTableElement} */ (byId('score')), TITLES);
  verdicts = new Verdicts();
  /** @type {SurgeDescription | null} */
  surge = null;
  /** @type {SurgePhase | undefined} */
  phase;
  /** The run that was asked for has not begun yet. */
  pressed = false;
  busyAt = -Infinity;
  /** Milliseconds of the run at `heardAt` of this page's clock. */
  atMs = 0;
  heardAt = 0;

  /** @param {Speaker} speaker */
  constructor(speaker) {
    this.speaker = speaker;
    this.button.addEventListener('click', () => void this.press());
    byId('world-figures').addEventListener('toggle', () => this.tabulate());
  }

  /** @param {Room} room */
  enter({ mode, surge, history }) {
    this.surge = surge;
    this.phase = undefined; // of this connection
    this.pressed = false;
    this.atMs = 0;
    byId('stage').hidden = surge === null;
    byId('map').hidden = surge === null;
    const watch = byId('watch');
    watch.hidden = surge !== null;
    if (surge === null) {
      say(
        watch,
        mode === 'watch'
          ? 'This page only watches, as in production: the surge, the pods and the buttons are disabled. CONTROL_ROOM=on enables them.'
          : 'This process starts no worlds, so there is no surge to run.',
      );
      return;
    }
    for (const id of /** @type {const} */ (['left', 'right'])) this.worlds[id].recall(history.worlds?.[id] ?? []);
    this.say('limits', `let ${shown(surge.limit)}/s through`);
    this.say('matching', `serves ${shown(surge.capacity)}/s`);
    this.tabulate();
  }

  /** @param {Tick} tick */
  hear({ surge: tick }) {
    const { surge, worlds } = this;
    if (tick === null || surge === null) return;
    const { phase } = tick;
    const running = isRunning(phase) || phase === 'ending';
    const begins = this.phase !== undefined && !isRunning(this.phase) && this.phase !== 'ending';
    const isNew = isRunning(phase) && (begins || tick.atMs < this.atMs);
    if (isNew) for (const world of Object.values(worlds)) world.restart();
    this.atMs = tick.atMs;
    this.heardAt = performance.now();
    if (tick.worlds !== null) {
      worlds.left.hear(tick.worlds.left, tick.atMs, running);
      worlds.right.hear(tick.worlds.right, tick.atMs, running);
    }
    const top = HEADROOM * Math.max(surge.demand, worlds.left.top, worlds.right.top);
    const last = running ? undefined : tick.verdicts.find((verdict) => verdict.phase === 'surge');
    for (const id of /** @type {const} */ (['left', 'right'])) {
      this.score.show(id, worlds[id].show(surge, phase, top, last?.worlds[id]));
    }
    this.say('riders', isRunning(phase) ? `send ${shown(worlds.right.asked)}/s` : 'ask for rides');
    document.body.dataset['phase'] = phase;
    this.showButton(tick, surge);
    this.showBusy(tick, surge);
    const state = stateOf(tick, surge);
    say(byId('state'), state);
    if (phase !== this.phase && this.phase !== undefined) this.speaker.tell(state);
    this.phase = phase;
    for (const sentence of this.verdicts.show(tick.verdicts, surge)) this.speaker.tell(sentence);
    if (isRunning(phase)) this.speaker.mention(() => this.sentence(surge));
    this.tabulate();
  }

  /** What both charts show. @param {SurgeDescription} surge */
  sentence(surge) {
    const { left, right } = this.worlds;
    if (left.sample === undefined || right.sample === undefined) return '';
    return `Without limits: ${captionOf(left.sample, surge)} With limits: ${captionOf(right.sample, surge)}`;
  }

  /** @param {SurgeTick} tick @param {SurgeDescription} surge */
  showButton({ phase, secondsLeft }, { seconds }) {
    const { button } = this;
    const running = isRunning(phase);
    // A failure that was there before the button was pressed is no answer to it.
    if (running || (phase === 'unavailable' && this.phase !== 'unavailable')) this.pressed = false;
    button.classList.toggle('stop', running);
    button.disabled = false;
    this.rest(phase === 'ending' || this.pressed);
    const idle = phase === 'unavailable' ? 'Try again' : `Run the surge, ${shown(seconds)} s`;
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
      say(element, text);
    }
    element.hidden = now - this.busyAt > BUSY_MS;
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

  /** @param {'riders' | 'limits' | 'matching'} node @param {string} text */
  say(node, text) {
    const element = document.querySelector(`[data-map="${node}"]`);
    if (element !== null) say(element, text);
  }

  tabulate() {
    tabulate([this.worlds.left.points, this.worlds.right.points]);
  }

  /** Draws what moves between two ticks. */
  draw() {
    if (this.surge === null) return;
    const atMs = this.atMs + performance.now() - this.heardAt;
    for (const { requests, followed } of Object.values(this.worlds)) {
      requests.draw(atMs);
      followed.draw();
    }
  }
}
