/** Two servers and their riders run beside the page, and leave little of a small machine. */
const FRAME_MS = navigator.hardwareConcurrency > 2 ? 33 : 50;

/** One timer for all pictures, so that a frame of the page has all of them. It stops when no picture moves. */
class Ticker {
  /** @type {Set<() => boolean>} */
  frames = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;

  constructor() {
    document.addEventListener('visibilitychange', () => this.run());
  }

  /** @param {() => boolean} frame draws, and returns whether it wants to be called again */
  wake(frame) {
    this.frames.add(frame);
    this.run();
  }

  run() {
    if (this.timer !== undefined || document.hidden || this.frames.size === 0) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      for (const frame of this.frames) if (!frame()) this.frames.delete(frame);
      this.run();
    }, FRAME_MS);
  }
}

export const ticker = new Ticker();
