import { Lane } from './lane.js';
import type { Policy } from './library.js';
import { algorithmOf, policiesOf, type Settings } from './settings.js';
import type { TrafficEvent } from './traffic.js';

const MICROSECONDS = 1000;
/** Clocks of stores are microseconds since 1970. */
const BEGIN_OF_2024 = 1_704_067_200_000_000;

/** A row: a policy, and the lane in which it meets the traffic. */
export interface Row {
  readonly policy: Policy;
  readonly lane: Lane;
}

/** Sends one traffic to all algorithms, from the beginning to now. Times are whole milliseconds since the beginning. */
export class Timeline {
  readonly rows: readonly Row[];
  /** The beginning by the clock of the algorithms: an edge of the windows, so that edges are round numbers on the page. Months begin with a year. */
  readonly origin: number;
  private readonly traffic: TrafficEvent[];
  private met = 0;
  private time = 0;

  /** @param events sorted by time */
  constructor(
    readonly settings: Settings,
    events: readonly TrafficEvent[] = [],
  ) {
    const { calendar, windowMs } = settings;
    const window = windowMs * MICROSECONDS;
    this.origin = calendar === 'none' ? Math.floor(BEGIN_OF_2024 / window) * window : BEGIN_OF_2024;
    this.traffic = [...events];
    this.rows = policiesOf(settings).map((policy) => ({
      policy,
      lane: new Lane(algorithmOf(policy), this.origin, settings),
    }));
  }

  get now(): number {
    return this.time;
  }

  /** Now by the clock of the algorithms. */
  get clock(): number {
    return this.at(this.time);
  }

  get events(): readonly TrafficEvent[] {
    return this.traffic;
  }

  /** The first edge of the fixed window after a time. */
  edgeAfter(time: number): number {
    const { lane } = this.rows.find(({ policy }) => policy.algorithm === 'fixed-window')!;
    return (lane.edgesAfter(this.at(time)).next().value - this.origin) / MICROSECONDS;
  }

  /** Whether nothing more happens without further traffic: all has been met, and no limit is in use. */
  get isQuiet(): boolean {
    return this.met === this.traffic.length && this.rows.every(({ lane }) => lane.isIdle(this.clock));
  }

  /** Adds events from now on, which may lie ahead. */
  add(events: readonly TrafficEvent[]): void {
    for (const event of events) {
      if (event.at < this.time) throw new RangeError(`the event at ${event.at} ms lies before now, ${this.time} ms`);
      let place = this.traffic.length;
      while (place > this.met && this.traffic[place - 1]!.at > event.at) place--;
      this.traffic.splice(place, 0, event);
    }
    this.advance(this.time);
  }

  /** Moves on to the time `to`; never back. */
  advance(to: number): void {
    for (let event = this.traffic[this.met]; event !== undefined && event.at <= to; event = this.traffic[this.met]) {
      this.met++;
      const at = this.at(event.at);
      for (const { lane } of this.rows) {
        lane.advance(at);
        lane.meet(event.kind, at);
      }
    }
    this.time = Math.max(this.time, to);
    for (const { lane } of this.rows) lane.advance(this.clock);
  }

  private at(time: number): number {
    return this.origin + time * MICROSECONDS;
  }
}
