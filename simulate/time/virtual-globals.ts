import { takeGlobals } from '../../libs/floodgate/src/util/real-timers.js';
import type { EventLoop } from './event-loop.js';
import type { Random } from './random.js';
import type { Scheduler } from './scheduler.js';

/** The first instant of every simulation: 2026-01-01, in microseconds since 1970. */
export const BEGINNING = 1_767_225_600_000_000;

/** The globals of a process through which code learns the time, waits, or draws lots. */
const NAMES = [
  'performance',
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
] as const;

/** A timer as Node.js returns it. */
class VirtualTimer {
  constructor(readonly cancel: () => void) {}

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/**
 * Gives the code of a pod the globals of a virtual process: clocks, timers, the phases of the event loop, and lots. The library
 * takes them from the process, so the engine runs as it is, and no part of it can reach the real time.
 */
export class VirtualGlobals {
  private current: EventLoop | undefined;
  private readonly ticks: (() => void)[] = [];
  private restore: (() => void) | undefined;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly random: Random,
  ) {}

  /** From now on the globals are those of this pod. */
  readonly enter = (loop: EventLoop | undefined): void => {
    this.current = loop;
  };

  /** Replaces the globals. */
  install(): void {
    const before = NAMES.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)!] as const);
    const { now } = Date;
    const { random } = Math;
    const nextTick = Object.getOwnPropertyDescriptor(process, 'nextTick')!;
    for (const [name, value] of Object.entries(this.replacements())) {
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: true });
    }
    Date.now = () => Math.floor((BEGINNING + this.scheduler.now) / 1000);
    Math.random = this.random.next;
    process.nextTick = (task: (...args: never[]) => void, ...args: unknown[]) => {
      this.ticks.push(() => task(...(args as never[])));
    };
    const giveBack = takeGlobals();
    this.restore = () => {
      giveBack();
      for (const [name, descriptor] of before) Object.defineProperty(globalThis, name, descriptor);
      Date.now = now;
      Math.random = random;
      Object.defineProperty(process, 'nextTick', nextTick);
    };
  }

  uninstall(): void {
    this.restore?.();
    this.restore = undefined;
  }

  /**
   * Runs the tasks of `process.nextTick`.
   *
   * @returns whether there was any
   */
  runTicks(): boolean {
    if (this.ticks.length === 0) return false;
    for (let tick = this.ticks.shift(); tick !== undefined; tick = this.ticks.shift()) {
      if (this.current?.isAlive !== false) tick();
    }
    return true;
  }

  private replacements(): Record<(typeof NAMES)[number], unknown> {
    const clear = (timer: VirtualTimer | undefined): void => timer?.cancel();
    return {
      performance: { now: () => this.loop.performanceMs, timeOrigin: BEGINNING / 1000 },
      setTimeout: (task: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
        new VirtualTimer(this.loop.later(() => task(...args), ms)),
      setInterval: (task: () => void, ms = 1) => this.interval(task, ms),
      setImmediate: (task: (...args: unknown[]) => void, ...args: unknown[]) =>
        new VirtualTimer(this.loop.immediate(() => task(...args))),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate: clear,
    };
  }

  private interval(task: () => void, ms: number): VirtualTimer {
    const { loop } = this;
    let cancel: () => void;
    const arm = (): void => {
      cancel = loop.later(() => {
        arm();
        task();
      }, ms);
    };
    arm();
    return new VirtualTimer(() => cancel());
  }

  private get loop(): EventLoop {
    if (this.current === undefined) throw new Error('only the code of a pod may read clocks and set timers');
    return this.current;
  }
}
