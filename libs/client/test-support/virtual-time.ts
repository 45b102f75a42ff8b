import { setImmediate as turn } from 'node:timers/promises';
import type { ClientTime } from '../src/index.js';

interface Task {
  readonly at: number;
  readonly run: () => void;
}

/** Turns of the event loop in which what is ready in this process gets done: promises, and bodies that have arrived. */
const TURNS = 8;

/**
 * A clock that stands still while anything happens, and jumps to the next timer when nothing does. Requests travel over real
 * sockets, in no time.
 */
export class VirtualTime implements ClientTime {
  private readonly startedAtMs = Date.now();
  private ms = 0;
  private tasks: Task[] = [];
  private onTheWay = 0;
  private lastTurn = 0;

  readonly now = (): number => this.ms;
  readonly wallNow = (): number => this.startedAtMs + this.ms;
  /** The clock in whole microseconds, for a store. */
  readonly clock = (): number => Math.floor(this.ms * 1000);

  readonly setTimer = (run: () => void, ms: number): (() => void) => {
    const task = { at: this.ms + ms, run };
    this.tasks.push(task);
    return () => {
      this.tasks = this.tasks.filter((other) => other !== task);
    };
  };

  get timers(): number {
    return this.tasks.length;
  }

  /** A fetch with the body already read: while it is on the way, the clock stands still. */
  readonly fetch: typeof fetch = async (input, init) => {
    this.onTheWay++;
    try {
      const response = await fetch(input, init);
      const { status, headers } = response;
      const bytes = await response.arrayBuffer();
      return new Response(bytes.byteLength === 0 ? null : bytes, { status, headers });
    } finally {
      this.onTheWay--;
      this.lastTurn = 0;
    }
  };

  /** Lets the time pass until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    const ended: unknown[] = [];
    const settled = work.finally(() => ended.push(true));
    settled.catch(() => undefined);
    while (ended.length === 0) {
      await this.settle();
      if (ended.length === 0) this.jump();
    }
    return settled;
  }

  /** Lets `ms` milliseconds pass. */
  async advance(ms: number): Promise<void> {
    const until = this.ms + ms;
    for (;;) {
      await this.settle();
      if (this.nextAt() > until) break;
      this.jump();
    }
    this.ms = until;
    await this.settle();
  }

  /** Waits until nothing is left to do without the time passing. */
  async settle(): Promise<void> {
    for (this.lastTurn = 0; this.lastTurn < TURNS; this.lastTurn++) {
      await turn();
      if (this.onTheWay > 0) this.lastTurn = 0;
    }
  }

  private nextAt(): number {
    return this.tasks.reduce((least, { at }) => Math.min(least, at), Infinity);
  }

  private jump(): void {
    const at = this.nextAt();
    if (at === Infinity) throw new Error('Nothing is on the way and no timer runs: the work never ends');
    this.ms = Math.max(this.ms, at);
    const due = this.tasks.filter((task) => task.at <= this.ms);
    this.tasks = this.tasks.filter((task) => task.at > this.ms);
    for (const { run } of due) run();
  }
}
