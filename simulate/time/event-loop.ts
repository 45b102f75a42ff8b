import type { Scheduler } from './scheduler.js';

/** A callback of the poll phase, and the CPU time that it takes. */
interface Callback {
  readonly run: () => void;
  readonly microseconds: number;
}

/**
 * The event loop of one pod: a poll phase that runs the callbacks which are ready, then a check phase that runs what
 * `setImmediate` was given. A callback takes CPU time. What becomes ready meanwhile waits for the next poll phase: so a busy pod
 * puts more requests into a batch than a quiet one.
 */
export class EventLoop {
  private ready: Callback[] = [];
  private immediates: { task: (() => void) | undefined }[] = [];
  private turning = false;
  private alive = true;
  /** CPU time of the callback that runs. */
  private spent = 0;
  private busy = 0;

  /**
   * @param enter called before each callback: from then on the globals are those of this loop
   * @param offset by how many microseconds the monotonic clock of this pod is off
   * @param drift by which part that clock is too fast
   */
  constructor(
    private readonly scheduler: Scheduler,
    private readonly enter: (loop: EventLoop) => void,
    private readonly offset = 0,
    private readonly drift = 0,
  ) {}

  /** Microseconds of CPU time so far. */
  get cpu(): number {
    return this.busy;
  }

  get isAlive(): boolean {
    return this.alive;
  }

  /** The pod's own clock that never steps, in milliseconds. */
  get performanceMs(): number {
    return (this.offset + (this.scheduler.now + this.spent) * (1 + this.drift)) / 1000;
  }

  /** A callback for the next poll phase: a request or an answer that arrives, or a timer. */
  post(run: () => void, microseconds = 0): void {
    if (!this.alive) return;
    this.ready.push({ run, microseconds });
    this.wake();
  }

  /** What `setTimeout` does. Returns what cancels it. */
  later(run: () => void, ms: number): () => void {
    let cancelled = false;
    const cancel = this.scheduler.after((Math.max(1, ms) * 1000) / (1 + this.drift), () =>
      this.post(() => {
        if (!cancelled) run();
      }),
    );
    return () => {
      cancelled = true;
      cancel();
    };
  }

  /** What `setImmediate` does. Returns what cancels it. */
  immediate(task: () => void): () => void {
    const immediate: { task: (() => void) | undefined } = { task };
    this.immediates.push(immediate);
    this.wake();
    return () => (immediate.task = undefined);
  }

  /** The running callback takes more CPU time. */
  spend(microseconds: number): void {
    this.spent += microseconds;
  }

  /** Microseconds since the running callback began. */
  get elapsed(): number {
    return this.spent;
  }

  /** Ends the process as SIGKILL does: nothing of it runs any more. */
  kill(): void {
    this.alive = false;
    this.ready = [];
    this.immediates = [];
  }

  private wake(): void {
    if (this.turning || !this.alive) return;
    this.turning = true;
    this.scheduler.after(0, () => this.poll(this.take(), 0));
  }

  private take(): Callback[] {
    const { ready } = this;
    this.ready = [];
    return ready;
  }

  private poll(callbacks: readonly Callback[], i: number): void {
    if (!this.alive) return;
    const callback = callbacks[i];
    if (callback === undefined) {
      this.check();
      return;
    }
    this.runFor(callback.run, callback.microseconds);
    // The microtasks of the callback run before the next event does. They may spend time as well.
    this.scheduler.after(0, () => this.goOn(() => this.poll(callbacks, i + 1)));
  }

  private check(): void {
    const { immediates } = this;
    this.immediates = [];
    this.runImmediates(immediates, 0);
  }

  private runImmediates(immediates: readonly { task: (() => void) | undefined }[], i: number): void {
    if (!this.alive) return;
    const immediate = immediates[i];
    if (immediate !== undefined) {
      this.runFor(() => immediate.task?.(), 0);
      this.scheduler.after(0, () => this.goOn(() => this.runImmediates(immediates, i + 1)));
    } else if (this.ready.length > 0 || this.immediates.length > 0) {
      this.poll(this.take(), 0);
    } else {
      this.turning = false;
    }
  }

  private runFor(run: () => void, microseconds: number): void {
    this.spent = microseconds;
    this.enter(this);
    run();
  }

  /** Goes on once the CPU time of the last callback is over. */
  private goOn(next: () => void): void {
    const { spent } = this;
    this.spent = 0;
    this.busy += spent;
    if (spent === 0) next();
    else this.scheduler.after(spent, next);
  }
}
