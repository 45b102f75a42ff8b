/** Simulated seconds in a second of the film. */
const SPEED = 2;
/** The part of the picture that must be in view when the film begins. */
const IN_VIEW = 0.5;

/**
 * The clock of the film. It runs only while the film plays and is in view. Before the film plays, it stands at the end: whoever sees no
 * film sees the result.
 */
export class Player {
  /** Simulated seconds. */
  now;
  playing = false;
  #begin;
  #end;
  #isTouched = false;
  #changed;
  #inView = false;
  #frame = 0;
  #last = 0;
  #observer;

  /**
   * @param {HTMLElement} element
   * @param {{ begin: number, end: number, picture: HTMLElement | undefined, changed: () => void }} options `picture`: the part of the element that
   *   sets the film going when it comes into view, if anything does; `changed`: the time, or whether it plays
   */
  constructor(element, { begin, end, picture, changed }) {
    this.#begin = begin;
    this.now = this.#end = end;
    this.#changed = changed;
    this.#observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting, intersectionRatio } of entries) {
          if (target === element) this.#inView = isIntersecting;
          if (target !== picture || intersectionRatio < IN_VIEW) continue;
          this.#observer.unobserve(picture);
          // A viewer who has touched it already decides.
          if (!this.#isTouched) this.play();
        }
        this.#run();
      },
      { threshold: [0, IN_VIEW] },
    );
    this.#observer.observe(element);
    if (picture !== undefined) this.#observer.observe(picture);
  }

  get ended() {
    return this.now >= this.#end;
  }

  /** The length of the film in seconds. */
  get duration() {
    return (this.#end - this.#begin) / SPEED;
  }

  /** From the beginning, if it has ended. */
  play() {
    if (this.ended) this.now = this.#begin;
    this.#isTouched = true;
    this.playing = true;
    this.#run();
    this.#changed();
  }

  pause() {
    this.playing = false;
    this.#run();
    this.#changed();
  }

  /**
   * @param {number} seconds simulated ones
   */
  show(seconds) {
    this.#isTouched = true;
    this.now = Math.min(this.#end, Math.max(0, seconds));
    this.pause();
  }

  /** @param {number} seconds of the film */
  seek(seconds) {
    this.show(this.#begin + seconds * SPEED);
  }

  destroy() {
    this.#observer.disconnect();
    this.playing = false;
    this.#run();
  }

  /** Asks for frames, or no longer. */
  #run() {
    if (!this.playing || !this.#inView) {
      cancelAnimationFrame(this.#frame);
      this.#frame = 0;
    } else if (this.#frame === 0) {
      this.#last = performance.now();
      this.#frame = requestAnimationFrame((at) => this.#step(at));
    }
  }

  /** @param {number} at */
  #step(at) {
    this.#frame = 0;
    this.now = Math.min(this.#end, this.now + (Math.max(0, at - this.#last) / 1000) * SPEED);
    this.#last = at;
    if (this.ended) return this.pause();
    this.#frame = requestAnimationFrame((next) => this.#step(next));
    this.#changed();
  }
}
