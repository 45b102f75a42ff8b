import type { Clock } from '../../libs/floodgate/src/stores/store.js';

/** A clock that only the test moves, in whole microseconds. */
export class TestClock {
  now: number;

  constructor(now = 0) {
    this.now = now;
  }

  readonly read: Clock = () => this.now;
}
