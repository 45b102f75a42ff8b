import { byId, make, say, shown, shownTime } from './dom.js';
import { turn } from './send.js';

/** @typedef {import('../live.js').Room} Room */
/** @typedef {import('../live.js').Tick} Tick */

/** @type {Readonly<Record<Tick['decider'], readonly [string, string]>>} */
const DECIDERS = {
  redis: ['Redis decides', ', for all processes together.'],
  process: ['This process decides', ', for itself alone: it was started without REDIS_URL.'],
  fallback: ['This process decides', ', with its share of the limits, until Redis is back.'],
  nobody: ['Nobody decides', ': every request goes through.'],
};

/** Milliseconds between two sentences to a screen reader. */
const SPEAK_EVERY_MS = 8000;

/** The two controls, and what is said about them. */
export class Status {
  /** @type {Room | undefined} */
  room;
  /** @type {Tick | undefined} */
  tick;
  spokeAt = -Infinity;
  concertButton = /** @type {HTMLButtonElement} */ (byId('concert-button'));
  switch = /** @type {HTMLButtonElement} */ (byId('switch'));

  constructor() {
    this.concertButton.addEventListener('click', () => this.ask('concert', this.tick?.concert.phase !== 'running'));
    this.switch.addEventListener('click', () => this.ask('enforcement', this.tick?.enforced !== true));
  }

  /** @param {Room} room */
  enter(room) {
    this.room = room;
    say(byId('rider'), room.rider);
    if (room.mode === 'watch') {
      this.notice(
        'This process is only watched, as it is in production: the surge, the switch and the requests are rejected. CONTROL_ROOM=on enables them.',
      );
    } else if (!room.switchable) {
      this.notice('RATE_LIMIT is “off”: this process was started without a limiter, and there is nothing to switch.');
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
    const [who, more] = DECIDERS[tick.decider];
    decider.replaceChildren(make('b', '', who), more);
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
          : `${shown(size.riders)} riders ask this process for ${shown(size.demand)} rides, fares and cars a second, for ${size.seconds} s: more than matching can answer.`,
      running: `${secondsLeft} s left. ${counts}, ${shown(waiting)} waiting.`,
      ending: `Over. ${counts}; ${shown(waiting)} riders still wait.`,
    };
    say(byId('concert-text'), texts[phase]);
    concertButton.disabled = mode === 'watch' || phase === 'ending';
    say(concertButton, phase === 'running' ? 'Stop the surge' : 'The concert ends');
    concertButton.classList.toggle('stop', phase === 'running');
    document.body.dataset['phase'] = phase;
  }

  /**
   * Says how it stands to those who do not see the charts; not more often than can be listened to.
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
        ? 'matching is away'
        : `matching ${shown(utilisation * 100)} % busy, waits up to ${shownTime(p99)}`;
    say(byId('spoken'), `${shown(passed)} a second let through, ${shown(rejected)} rejected; ${matching}.`);
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
