import { SlowButton } from './pods-controls.js';
import { ask } from './send.js';

/** @typedef {import('../pods/pods-tick.js').PodsTick} PodsTick */

/** The buttons that stop the Redis of this page, which the worlds and the pods share. */
export class RedisSwitch {
  /** @type {SlowButton[]} */
  buttons = [];
  isUp = true;
  name = 'Redis';

  /** @param {(problem: string) => void} complain */
  constructor(complain) {
    this.complain = complain;
  }

  /** A further button. */
  button() {
    const button = new SlowButton('', 'Stop Redis', 'One moment…', () => this.turn());
    button.enable(false);
    this.buttons.push(button);
    return button;
  }

  /** @param {PodsTick | null} tick */
  hear(tick) {
    if (tick === null) return;
    this.isUp = tick.store.isUp;
    this.name = tick.store.kind === 'memory' ? 'the store' : 'Redis';
    this.show();
  }

  show() {
    for (const button of this.buttons) {
      button.enable(true);
      button.say(`${this.isUp ? 'Stop' : 'Start'} ${this.name}`);
    }
  }

  async turn() {
    const up = !this.isUp;
    try {
      await ask('pods/redis', 'PUT', { up });
      this.isUp = up;
      this.complain('');
    } catch (error) {
      this.complain(/** @type {Error} */ (error).message);
    }
    this.show();
  }
}
