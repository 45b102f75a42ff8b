import { Agenda } from './agenda.js';
import { type Algorithm, judge } from './library.js';
import { lowHeadroom, type Settings, UNITS } from './settings.js';
import { impatientMs, MAX_TRIES, type TrafficKind } from './traffic.js';

/** The decision on one request. Instants and durations are whole microseconds. */
export interface Mark {
  readonly at: number;
  readonly allowed: boolean;
  /** Whether a script sent it again. */
  readonly isRetry: boolean;
  /** Whether it has low priority. */
  readonly isLow: boolean;
  readonly remaining: number;
  readonly resetAfter: number;
  readonly retryAfter: number;
  readonly delay: number;
  /** When the application is done with it: of a concurrency the end of its lease, else the instant at which it passes. */
  until: number;
  /** When the process of its request died, and left the lease to itself. */
  lostAt?: number;
}

/** How much of its limit a state uses at an instant, 0 to 1. */
export interface Sample {
  readonly at: number;
  readonly used: number;
}

/** What the next request would get. Durations are whole microseconds. */
export interface Outlook {
  readonly remaining: number;
  /** 0: a request passes now. */
  readonly retryAfter: number;
  readonly resetAfter: number;
  /** Of a leaky bucket: the wait of a request that comes now. */
  readonly delay: number;
}

/** A lease that a request holds. */
interface Held {
  readonly mark: Mark;
  at: number;
  resetAt: number;
}

type Task =
  | { readonly do: 'send'; readonly kind: TrafficKind; readonly tries: number }
  | { readonly do: 'renew' | 'release'; readonly held: Held };

const MICROSECONDS = 1000;
/** A picture shows three windows, and at least this long. */
const SHORTEST_MS = 15_000;
/** A picture needs no more of them. */
const SAMPLES = 300;
/** How many times a lease is renewed before it ends, as in the library. */
const RENEWALS = 4;

/** How long a picture of the timeline is, in milliseconds. */
export function spanOf(windowMs: number): number {
  return Math.max(SHORTEST_MS, 3 * windowMs);
}

/** One algorithm that meets the traffic: its state, and what it decided. Each decision is the library's. */
export class Lane {
  readonly marks: Mark[] = [];
  readonly samples: Sample[] = [];
  allowed = 0;
  rejected = 0;
  /** Whether a request of low priority has come: then the row shows its part. */
  hasLow = false;
  private state: unknown;
  private readonly agenda = new Agenda<Task>();
  private readonly running = new Set<Held>();
  /** What a picture can reach back, in microseconds. */
  private readonly memory: number;
  /** Microseconds from one sample to the next. A window is so many times as long, so that its edge is sampled. */
  private readonly every: number;
  private sampled = 0;

  /** @param origin the instant at which the timeline begins */
  constructor(
    readonly algorithm: Algorithm,
    private readonly origin: number,
    private readonly settings: Settings,
  ) {
    const { windowMs, calendar } = settings;
    this.memory = spanOf(windowMs) * MICROSECONDS;
    // A month is as many days, one or two hundred times as long as a sample.
    const unit = (calendar === 'none' ? windowMs : UNITS.d) * MICROSECONDS;
    this.every = unit / Math.ceil((unit * SAMPLES) / this.memory);
    this.samples.push({ at: origin, used: 0 });
  }

  /** Does what is due until `to`: retries, releases, renewals. */
  advance(to: number): void {
    for (let task = this.agenda.due(to); task !== undefined; task = this.agenda.due(to)) {
      this.sampleTo(task.at);
      this.do(task.what, task.at);
    }
    this.sampleTo(to);
    this.forget(to - this.memory);
  }

  /** Meets an event of the traffic at `now`, to which the lane has been advanced. */
  meet(kind: TrafficKind, now: number): void {
    if (kind === 'crash') this.crash(now);
    else this.send(kind, now, 1);
  }

  outlook(now: number): Outlook {
    const { algorithm } = this;
    const level = algorithm.read(this.state, now, 0);
    const fits = algorithm.fits(level, 1);
    return {
      remaining: algorithm.remaining(level),
      retryAfter: fits ? 0 : algorithm.retryAfter(level, 1),
      resetAfter: algorithm.resetAfter(level),
      delay: fits ? algorithm.delay(level) : 0,
    };
  }

  /** The used part of the limit, 0 to 1: a request that would raise it above 1 is rejected. */
  used(now: number): number {
    const { algorithm } = this;
    const level = algorithm.read(this.state, now, 0);
    const { limit, window, maxCost } = algorithm;
    // A bucket's debt, in tokens. A leaky bucket has one place more than it shows: that of the departing request.
    if (algorithm.refills) return Math.min(1, (algorithm.resetAfter(level) * limit) / window / maxCost);
    return (limit - algorithm.remaining(level)) / limit;
  }

  /** What requests of low priority may fill of the limit, 0 to 1, by the measure of `used`. */
  get lowPart(): number {
    const { algorithm } = this;
    // A leaky bucket's headroom leaves waiting places free, and it has one place more.
    const all = algorithm.refills ? algorithm.maxCost : algorithm.limit;
    return (all - lowHeadroom(algorithm)) / all;
  }

  /** The edges of its windows after an instant, without an end: those of the clock, or of the calendar. */
  *edgesAfter(instant: number): Generator<number, never> {
    const { algorithm } = this;
    const isFixed = algorithm.name === 'fixed-window';
    for (let at = instant; ;) {
      at += isFixed
        ? algorithm.resetAfter(algorithm.read(undefined, at, 0))
        : algorithm.window - (at % algorithm.window);
      yield at;
    }
  }

  /** Requests that run now, and hold a lease. */
  get held(): number {
    return this.running.size;
  }

  /** Whether nothing more becomes of the requests so far. */
  isIdle(now: number): boolean {
    return this.agenda.isEmpty && this.used(now) === 0;
  }

  private do(task: Task, now: number): void {
    if (task.do === 'send') this.send(task.kind, now, task.tries);
    else if (!this.running.has(task.held)) return;
    else if (task.do === 'release') this.release(task.held, now);
    else this.renew(task.held, now);
  }

  private send(kind: TrafficKind, now: number, tries: number): void {
    const { algorithm } = this;
    this.sample(now);
    const isLow = kind === 'low';
    if (isLow) this.hasLow = true;
    const headroom = isLow ? lowHeadroom(algorithm) : 0;
    const found = {
      charge: { key: algorithm.name, algorithm, cost: 1, headroom },
      level: algorithm.read(this.state, now, 0),
    };
    const { allowed, charges } = judge([found], now);
    const { remaining, resetAfter, retryAfter, delay } = charges[0]!;
    if (allowed) this.state = algorithm.write(found.level, now, this.state);
    const mark: Mark = {
      at: now,
      allowed,
      isRetry: tries > 1,
      isLow,
      remaining,
      resetAfter,
      retryAfter,
      delay,
      until: now + delay,
    };
    this.marks.push(mark);
    this.sample(now);
    if (allowed) this.allowed++;
    else this.rejected++;
    if (allowed && algorithm.lease !== undefined) this.hold(mark, now);
    if (!allowed && (kind === 'impatient' || kind === 'patient') && tries < MAX_TRIES) {
      const wait = kind === 'patient' ? retryAfter : impatientMs(this.settings.windowMs) * MICROSECONDS;
      this.agenda.add(now + wait, { do: 'send', kind, tries: tries + 1 });
    }
  }

  private hold(mark: Mark, now: number): void {
    const held = { mark, at: now, resetAt: now + mark.resetAfter };
    mark.until = now + this.settings.durationMs * MICROSECONDS;
    this.running.add(held);
    this.agenda.add(mark.until, { do: 'release', held });
    this.renewLater(held, now);
  }

  private renewLater(held: Held, now: number): void {
    const next = now + Math.floor(this.algorithm.lease!.length / RENEWALS);
    if (next < held.mark.until) this.agenda.add(next, { do: 'renew', held });
  }

  private renew(held: Held, now: number): void {
    const renewal = this.algorithm.lease!.renewal(held.resetAt);
    const level = renewal.charge(renewal.read(this.state, now, 0), 1);
    this.state = renewal.write(level, now, this.state);
    held.at = now;
    held.resetAt = now + renewal.resetAfter(level);
    this.renewLater(held, now);
  }

  private release(held: Held, now: number): void {
    this.running.delete(held);
    this.sample(now);
    this.algorithm.refunds?.refund(this.state, now, 1, { cost: 1, at: held.at, resetAt: held.resetAt });
    this.sample(now);
  }

  /** No process renews or releases the leases any more: each ends by itself. */
  private crash(now: number): void {
    for (const { mark, resetAt } of this.running) Object.assign(mark, { lostAt: now, until: resetAt });
    this.running.clear();
  }

  private sampleTo(to: number): void {
    const count = Math.floor((to - this.origin) / this.every);
    // What no picture reaches back to is not sampled.
    this.sampled = Math.max(this.sampled, count - 2 * SAMPLES);
    while (this.sampled < count) this.sample(this.origin + Math.round(++this.sampled * this.every));
  }

  private sample(at: number): void {
    this.samples.push({ at, used: this.used(at) });
  }

  /** Seldom, and then much at once: arrays are shifted as a whole. */
  private forget(before: number): void {
    for (const list of [this.marks, this.samples] as { at: number }[][]) {
      if (list.length < 4_000 || list[1_000]!.at > before) continue;
      list.splice(
        0,
        list.findIndex(({ at }) => at > before),
      );
    }
  }
}
