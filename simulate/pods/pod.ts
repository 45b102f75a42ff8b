import type { EventLoop } from '../time/event-loop.js';
import type { Scheduler } from '../time/scheduler.js';
import type { Decider, Outcome } from './decider.js';

/** One request that was answered. */
export interface Answered extends Outcome {
  readonly identity: string;
  readonly cost: number;
  readonly region: number;
  /** When the request came to the pod, and when the decision was there: microseconds since the simulation began. */
  readonly arrivedAt: number;
  readonly answeredAt: number;
}

/** A process of the application: an event loop and what decides in it. */
export class Pod {
  private decider: Decider | undefined;

  /**
   * @param requestCost microseconds of CPU time of the application for a request
   * @param record takes each request that was answered
   */
  constructor(
    readonly region: number,
    readonly loop: EventLoop,
    private readonly scheduler: Scheduler,
    private readonly requestCost: number,
    private readonly record: (answered: Answered) => void,
  ) {}

  /** Starts the process. `make` runs in it. */
  boot(make: (pod: Pod) => Decider): void {
    this.loop.post(() => (this.decider = make(this)));
  }

  /** A request arrives. A dead pod answers nothing. */
  request(identity: string, cost = 1): void {
    this.loop.post(() => this.decide(identity, cost), this.requestCost);
  }

  private decide(identity: string, cost: number): void {
    const arrivedAt = this.now;
    const answered = ({ allowed, at, by }: Outcome): void =>
      this.record({ identity, cost, region: this.region, allowed, at, by, arrivedAt, answeredAt: this.now });
    const outcome = this.decider!.decide(identity, cost);
    if (outcome instanceof Promise) void outcome.then(answered);
    else answered(outcome);
  }

  private get now(): number {
    return this.scheduler.now + this.loop.elapsed;
  }
}
