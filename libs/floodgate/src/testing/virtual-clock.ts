import { type Duration, durationToMilliseconds } from '../util/duration.js';
import { checkNames } from '../util/option-rules.js';
import type { Clock } from '../stores/store.js';
import type { Timer } from '../stores/timer.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';

/** A task that waits for an instant of the time that has passed. */
interface Task {
  /** Microseconds of `passed`. */
  readonly dueAt: number;
  readonly run: () => void;
  /** Whether no request waits for it. */
  readonly isUpkeep: boolean;
}

const MICROSECONDS = 1000;
/** Midnight at the start of a year: every window begins at it. */
const START = '2026-01-01T00:00:00Z';
/** A part of a microsecond that the floating point of a wait in milliseconds may add. */
const ROUNDING = 1e-3;

/**
 * A clock that stands still until a test moves it, exact in whole microseconds. What waits by it, such as a leaky bucket's delayed
 * requests, passes when the clock reaches its instant, without any real time.
 *
 * A task runs at its own instant, in the order of the instants. What the task resumes (a handler after its `await`) runs after
 * `advance` has returned, so it reads the instant at which `advance` has ended.
 *
 * @example
 * ```ts
 * const clock = new VirtualClock();
 * const store = new VirtualStore(clock);
 * clock.advance('24h');
 * ```
 */
export class VirtualClock {
  private time: number;
  /** Microseconds by which the clock was advanced. Timers count these: a clock that steps back makes no wait longer. */
  private passed = 0;
  /** The next one first. */
  private readonly tasks: Task[] = [];
  private readonly watchers = new Set<() => void>();

  /**
   * @param start the first instant; default 2026-01-01T00:00:00Z
   * @throws {RateLimitConfigError} when it is no date
   */
  constructor(start: Date | string = START) {
    this.time = instantOf('new VirtualClock', start);
  }

  /** Microseconds since 1970. A `Clock`: the option of `MemoryStore` and `RedisStore`. */
  readonly read: Clock = () => this.time;

  /** Runs tasks by this clock. The `timer` of a store of your own. */
  readonly timer: Timer = (ms, run, isUpkeep = false) => {
    const task = { dueAt: this.passed + Math.ceil(ms * MICROSECONDS - ROUNDING), run, isUpkeep };
    const next = this.tasks.findIndex(({ dueAt }) => dueAt > task.dueAt);
    this.tasks.splice(next === -1 ? this.tasks.length : next, 0, task);
    if (!isUpkeep) for (const notify of this.watchers) notify();
    return () => {
      const at = this.tasks.indexOf(task);
      if (at !== -1) this.tasks.splice(at, 1);
    };
  };

  /** The instant, cut to whole milliseconds. */
  get now(): Date {
    return new Date(this.nowMs);
  }

  /** Milliseconds since 1970, with microseconds behind the point. */
  get nowMs(): number {
    return this.time / MICROSECONDS;
  }

  /** Microseconds since 1970, whole. */
  get nowMicroseconds(): number {
    return this.time;
  }

  /** How many tasks wait by this clock, such as delayed requests. */
  get waiting(): number {
    return this.tasks.filter(({ isUpkeep }) => !isUpkeep).length;
  }

  /**
   * Advances the clock.
   *
   * @param duration milliseconds, such as `retryAfterMs` of a decision, or text such as `'500ms'`, `'1m'`, `'24h'`; from 0 in
   * whole microseconds; 0 runs what is due now
   * @throws {RateLimitConfigError} for anything else
   * @example clock.advance('1m');
   */
  advance(duration: Duration): void {
    this.pass(microsecondsOf('VirtualClock.advance', duration));
  }

  /**
   * Advances the clock.
   *
   * @param microseconds a whole number from 0
   * @throws {RateLimitConfigError} for anything else
   */
  advanceMicroseconds(microseconds: number): void {
    if (!isPassing(microseconds)) {
      throw new RateLimitConfigError(
        'VirtualClock.advanceMicroseconds',
        `takes a whole number from 0, got ${shown(microseconds)}; stepBack('1s') moves back`,
      );
    }
    this.pass(microseconds);
  }

  /**
   * Advances the clock to an instant.
   *
   * @throws {RateLimitConfigError} when it is no date
   * @throws {RateLimitConfigError} when the instant is in the clock's past
   * @example clock.advanceTo('2026-02-01T00:00:00Z');
   */
  advanceTo(instant: Date | string): void {
    const target = instantOf('VirtualClock.advanceTo', instant);
    if (target < this.time) {
      throw new RateLimitConfigError(
        'VirtualClock.advanceTo',
        `${new Date(target / MICROSECONDS).toISOString()} is before the clock's ` +
          `${this.now.toISOString()}; stepBack('1s') moves the clock back`,
      );
    }
    this.pass(target - this.time);
  }

  /**
   * Moves the clock back, as a wall clock that is set. Requests that wait still wait as long as before.
   *
   * @param duration milliseconds, or text such as `'10s'`
   * @throws {RateLimitConfigError} for anything else
   */
  stepBack(duration: Duration): void {
    this.time -= microsecondsOf('VirtualClock.stepBack', duration);
  }

  /**
   * Resolves once as many tasks wait by this clock. A test sends a request, awaits this, and advances the clock then: an earlier
   * advance would miss the request.
   *
   * @param count a whole number from 1; default 1
   * @param options.within the real time to wait at most: milliseconds, or text such as `'1s'`, the default
   * @throws {Error} when fewer wait by then
   * @throws {RateLimitConfigError} when `within` is no duration
   * @throws {RateLimitConfigError} for an option that is not known
   * @example
   * ```ts
   * const reply = fetch(url); // delayed
   * await clock.untilWaiting();
   * clock.advance('100ms');
   * await reply;
   * ```
   */
  async untilWaiting(count = 1, options: { readonly within?: Duration } = {}): Promise<void> {
    checkNames(options, ['within'], 'VirtualClock.untilWaiting');
    const { within = '1s' } = options;
    const withinMs = microsecondsOf('VirtualClock.untilWaiting, within', within) / MICROSECONDS;
    if (this.waiting >= count) return;
    await new Promise<void>((resolve, reject) => {
      const finish = (end: () => void): void => {
        unwatch();
        clearTimeout(timeout);
        end();
      };
      const unwatch = this.watch(() => {
        if (this.waiting >= count) finish(resolve);
      });
      const timeout = setTimeout(() => {
        const message = `VirtualClock.untilWaiting: ${this.waiting} of ${count} wait after ${withinMs} ms`;
        finish(() => reject(new Error(message)));
      }, withinMs);
    });
  }

  /** @internal Calls `added` whenever a task begins to wait. Returns what ends it. */
  watch(added: () => void): () => void {
    this.watchers.add(added);
    return () => this.watchers.delete(added);
  }

  private pass(microseconds: number): void {
    const end = this.passed + microseconds;
    for (let task = this.tasks[0]; task !== undefined && task.dueAt <= end; task = this.tasks[0]) {
      this.tasks.shift();
      this.move(Math.max(task.dueAt, this.passed));
      task.run();
    }
    // A task may have advanced the clock further.
    this.move(Math.max(end, this.passed));
  }

  private move(passed: number): void {
    this.time += passed - this.passed;
    this.passed = passed;
  }
}

function isPassing(microseconds: unknown): microseconds is number {
  return Number.isSafeInteger(microseconds) && (microseconds as number) >= 0;
}

function microsecondsOf(place: string, duration: unknown): number {
  const exact = (durationToMilliseconds(duration) ?? NaN) * MICROSECONDS;
  const microseconds = Math.round(exact);
  // Microseconds / 1000 x 1000 may miss the whole number by the last bit.
  if (isPassing(microseconds) && Math.abs(exact - microseconds) <= microseconds * 2 * Number.EPSILON)
    return microseconds;
  throw new RateLimitConfigError(
    place,
    `takes milliseconds or text such as '500ms', '1m' or '24h', from 0 in whole microseconds, got ${shown(duration)}`,
  );
}

function instantOf(place: string, instant: unknown): number {
  const date = typeof instant === 'string' || instant instanceof Date ? new Date(instant) : undefined;
  const microseconds = (date?.getTime() ?? NaN) * MICROSECONDS;
  if (Number.isSafeInteger(microseconds)) return microseconds;
  throw new RateLimitConfigError(place, `takes a Date or text such as '2026-01-01T00:00:00Z', got ${shown(instant)}`);
}
