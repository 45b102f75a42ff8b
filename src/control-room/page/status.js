import { byId, make, say, shown, shownTime } from './dom.js';
import { turn } from './send.js';

/** @typedef {import('../live.js').Room} Room */
/** @typedef {import('../live.js').Tick} Tick */

/** @type {Readonly<Record<Tick['decider'], readonly [string, string]>>} */
const DECIDERS = {
  redis: ['Redis decides', ', for all processes together.'],
  process: ['This process decides', ', for itself alone: it runs without REDIS_URL.'],
  fallback: ['This process decides', ', with its share of the limits, while Redis is unavailable.'],
  none: ['Limits are off', ': every request passes.'],
};

/** The shortest time between two sentences for a screen reader. */
const SPEAK_EVERY_MS = 8000;

/** The surge button, the switch, and the texts about them. */
export class Status {
  /** @type {Room | undefined} */
  room;
  /** @type {Tick | undefined} */
  tick;
  spokeAt = -Infinity;
  overrides = '';
  concertButton = /** @type {HTMLButtonElement} */ (byId('concert-button'));
  switch = /** @type {HTMLButtonElement} */ (byId('switch'));

  constructor() {
    this.concertButton.addEventListener('click', () => this.ask('concert', this.tick?.concert.phase !== 'running'));
    this.switch.addEventListener('click', () => this.ask('enforcement', this.tick?.enforced !== true));
  }

  /** @param {Room} room */
  enter(room) {
    this.room = room;
    if (room.mode === 'watch') {
      this.notice(
        'The control room only watches, as in production: surge, switch and requests are disabled. CONTROL_ROOM=on enables them.',
      );
    } else if (!room.switchable) {
      this.notice('RATE_LIMIT is “off”: this process has no limiter, so the switch is disabled.');
    } else {
      this.notice('');
    }
  }

  /** @param {Tick} tick */
  hear(tick) {
    this.tick = tick;
    const { room } = this;
    if (room === undefined) return;
    this.hearConcert(tick, room);
    this.switch.disabled = room.mode === 'watch' || !room.switchable;
    this.switch.setAttribute('aria-checked', String(tick.enforced));
    const decider = byId('decider');
    if (decider.dataset['decider'] === tick.decider) return;
    decider.dataset['decider'] = tick.decider;
    const [subject, rest] = DECIDERS[tick.decider];
    decider.replaceChildren(make('b', '', subject), rest);
  }

  /** @param {Tick} tick @param {Room} room */
  hearConcert({ concert }, { mode, concert: size }) {
    const { concertButton } = this;
    const { phase, secondsLeft, waiting, allowed, rejected, failed } = concert;
    const counts = `${shown(allowed)} served, ${shown(rejected)} rejected, ${shown(failed)} failed`;
    const texts = {
      quiet:
        allowed + rejected + failed > 0
          ? `The last surge: ${counts}.`
          : `${shown(size.riders)} simulated riders send this process ${shown(size.demand)} requests per second for ${size.seconds} s: more than matching can answer.`,
      running: `${secondsLeft} s left. ${counts}, ${shown(waiting)} waiting.`,
      ending: `The surge is over. ${counts}; ${shown(waiting)} riders still wait.`,
    };
    say(byId('concert-text'), texts[phase]);
    concertButton.disabled = mode === 'watch' || phase === 'ending';
    say(concertButton, phase === 'running' ? 'Stop the surge' : 'The concert ends');
    concertButton.classList.toggle('stop', phase === 'running');
    document.body.dataset['phase'] = phase;
  }

  /**
   * Describes the charts in a sentence for screen readers, with time to listen between two sentences.
   *
   * @param {{ passed: number, rejected: number, utilisation: number | null, p99: number | null } | undefined} sample
   */
  speak(sample) {
    const now = performance.now();
    if (sample === undefined || this.tick === undefined || now - this.spokeAt < SPEAK_EVERY_MS) return;
    if (this.tick.concert.phase === 'quiet') return;
    this.spokeAt = now;
    const { passed, rejected, utilisation, p99 } = sample;
    const matching =
      utilisation === null || p99 === null
        ? 'matching is unavailable'
        : `matching ${shown(utilisation * 100)} % busy, waits up to ${shownTime(p99)}`;
    say(byId('spoken'), `${shown(passed)} requests per second allowed, ${shown(rejected)} rejected; ${matching}.`);
  }

  /**
   * Tells screen readers of overrides when they change.
   *
   * @param {string} rider
   * @param {readonly { title: string, overrides: readonly string[] }[]} lanes
   */
  tellOverrides(rider, lanes) {
    /** @type {Map<string, string[]>} */
    const titles = new Map();
    for (const { title, overrides } of lanes) {
      for (const text of overrides) titles.set(text, [...(titles.get(text) ?? []), title]);
    }
    const text = Array.from(titles, ([override, of]) => `${of.join(', ')}: ${override}.`).join(' ');
    const told = `${rider}: ${text || 'no override.'}`;
    // Without an override there is nothing to tell of a rider who had none.
    const isNews = told !== this.overrides && (text !== '' || this.overrides.startsWith(`${rider}: `));
    this.overrides = told;
    if (isNews) say(byId('spoken'), told);
  }

  /** @param {'concert' | 'enforcement'} what @param {boolean} on */
  async ask(what, on) {
    try {
      await turn(what, on);
      this.notice('');
    } catch (error) {
      this.notice(/** @type {Error} */ (error).message);
    }
  }

  /** @param {string} text */
  notice(text) {
    const element = byId('controls-notice');
    element.hidden = text === '';
    say(element, text);
  }
}
