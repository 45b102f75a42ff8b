import { Random } from './random.js';
import { ATTEMPTS, REQUESTS_PER_VISIT, Rider, type RiderRequest, type Route } from './rider.js';

export interface CrowdOptions {
  /** The number of riders: whole, from 1. */
  readonly riders: number;
  /** Requests per second that the riders would send if every request were served at once: above 0. */
  readonly demand: number;
  /** Further riders who open the app in the first two seconds: whole, from 0; default 0. */
  readonly rush?: number;
  /** Riders of the same seed send the same requests in every run. */
  readonly seed: number;
  /** The number of processes, which get the requests in turn. */
  readonly pods: number;
  /** @param lateMs how late the crowd sends the request: milliseconds since it was due, from 0 */
  readonly send: (request: RiderRequest, pod: number, lateMs: number) => Promise<Answer>;
  /** Called with every answer. */
  readonly onAnswer?: (observation: Observation) => void;
}

export interface Answer {
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** The driver that the matching service found. */
  readonly driverId?: string;
  /** The policy that rejected the request. */
  readonly policy?: string;
  /** When that policy admits the request, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** A request and its answer. Instants are milliseconds since the start of the crowd. */
export interface Observation extends Answer {
  readonly route: Route;
  /** The rider's number, from 0. */
  readonly rider: number;
  /** From 1. A request that was not served is repeated, up to `ATTEMPTS` times in all. */
  readonly attempt: number;
  readonly pod: number;
  /** The instant when the request was due. */
  readonly dueAt: number;
  readonly sentAt: number;
  readonly answeredAt: number;
}

export interface CrowdSnapshot {
  /** Since the start. */
  readonly seconds: number;
  /** Riders with the app open. */
  readonly inApp: number;
  /** Riders who wait for an answer. */
  readonly waiting: number;
  /** Answers with a status of 2xx. */
  readonly allowed: number;
  /** Rides with a driver. */
  readonly matched: number;
  /** Answers with a status of 429. */
  readonly rejected: number;
  /** All other answers, and requests without an answer. */
  readonly failed: number;
}

/** The duration of the rush. */
const RUSH_MS = 2000;

/**
 * The riders of a surge. A rider opens the app, sends one to three requests and closes the app. Between an answer and the next
 * request they pause for 0.1 to 0.3 s. A rider repeats a request that was not served, a second after an error and when
 * `Retry-After` says after a 429. After three attempts they give up and close the app.
 *
 * Riders arrive at the rate that makes `demand` requests per second if every request is served at once. When answers take long,
 * more riders arrive until all of them wait.
 *
 * @example
 * ```ts
 * const crowd = new Crowd({ riders: 2000, demand: 600, seed: 1, pods: 1, send });
 * crowd.start();
 * setInterval(() => console.log(crowd.snapshot()), 1000);
 * await crowd.stop(); // sends no further requests; resolves when all are answered
 * ```
 */
export class Crowd {
  private readonly riders: readonly Rider[];
  /** Riders without the app open. The rider who closed it first opens it next. */
  private readonly outside: number[];
  private arrivalsPerSecond: number;
  private readonly sessions = new Set<Promise<void>>();
  private readonly count = { allowed: 0, matched: 0, rejected: 0, failed: 0 };
  private waiting = 0;
  private turn = 0;
  private startedAt: number | undefined;
  private nextArrivalAt = 0;
  private arrival: NodeJS.Timeout | undefined;
  private stopped = false;
  /** Ends the pauses of riders between two requests. */
  private readonly pauses = new Set<() => void>();

  constructor(private readonly options: CrowdOptions) {
    const { riders, demand, seed } = options;
    this.riders = Array.from({ length: riders }, (_, index) => new Rider(seed, index));
    this.outside = new Random(seed, riders).shuffled(this.riders.keys());
    this.arrivalsPerSecond = demand / REQUESTS_PER_VISIT;
  }

  /** @throws Error when the crowd was started before */
  start(): void {
    if (this.startedAt !== undefined) throw new Error('a crowd starts only once; create another one');
    this.startedAt = performance.now();
    this.arrive();
  }

  /**
   * Changes the demand from now on.
   *
   * @param demand requests per second, above 0
   */
  setDemand(demand: number): void {
    this.arrivalsPerSecond = demand / REQUESTS_PER_VISIT;
    if (this.startedAt === undefined || this.stopped) return;
    // Otherwise the next rider would come as late as the old demand had it.
    this.nextArrivalAt = Math.min(this.nextArrivalAt, this.now() + this.gapMs());
    clearTimeout(this.arrival);
    this.arrive();
  }

  /** Sends no further requests. Resolves when all requests are answered. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.arrival);
    for (const end of this.pauses) end();
    await Promise.all(this.sessions);
  }

  snapshot(): CrowdSnapshot {
    const { count, sessions, waiting } = this;
    return { seconds: this.now() / 1000, inApp: sessions.size, waiting, ...count };
  }

  private now(): number {
    return this.startedAt === undefined ? 0 : performance.now() - this.startedAt;
  }

  /** Opens the app for all riders who are due by now. After a late timer several riders are due. */
  private arrive(): void {
    if (this.stopped) return;
    for (; this.nextArrivalAt <= this.now(); this.nextArrivalAt += this.gapMs()) {
      const rider = this.outside.shift();
      // Undefined: all riders have the app open already.
      if (rider !== undefined) this.open(rider, this.nextArrivalAt);
    }
    this.arrival = setTimeout(() => this.arrive(), Math.ceil(this.nextArrivalAt - this.now()));
  }

  private gapMs(): number {
    const rush = this.nextArrivalAt < RUSH_MS ? (this.options.rush ?? 0) : 0;
    return 1000 / (this.arrivalsPerSecond + (1000 * rush) / RUSH_MS);
  }

  private open(rider: number, dueAt: number): void {
    const session = this.visit(rider, dueAt).finally(() => {
      this.sessions.delete(session);
      this.outside.push(rider);
    });
    this.sessions.add(session);
  }

  private async visit(index: number, openedAt: number): Promise<void> {
    let dueAt = openedAt;
    const waitFor = async (ms: number): Promise<void> => {
      dueAt = this.now() + ms;
      await this.pause(ms);
    };
    const rider = this.riders[index]!;
    const planned = rider.visit();
    for (const [i, { request, pauseMs }] of planned.entries()) {
      for (let attempt = 1; ; attempt++) {
        if (this.stopped) return;
        const { status, retryAfterMs } = await this.ask(index, request, attempt, dueAt);
        if (isServed(status)) break;
        if (attempt === ATTEMPTS || this.stopped) return;
        await waitFor(rider.retryMs(retryAfterMs));
      }
      if (i < planned.length - 1 && !this.stopped) await waitFor(pauseMs);
    }
  }

  private async ask(rider: number, request: RiderRequest, attempt: number, dueAt: number): Promise<Answer> {
    const pod = this.turn++ % this.options.pods;
    const sentAt = this.now();
    this.waiting++;
    const answer = await this.options
      .send(request, pod, Math.max(0, sentAt - dueAt))
      .catch((): Answer => ({ status: 0 }));
    this.waiting--;
    this.note(answer);
    const { route } = request;
    this.options.onAnswer?.({ ...answer, route, rider, attempt, pod, dueAt, sentAt, answeredAt: this.now() });
    return answer;
  }

  private note({ status, driverId }: Answer): void {
    if (status === 429) this.count.rejected++;
    else if (isServed(status)) this.count.allowed++;
    else this.count.failed++;
    if (driverId !== undefined) this.count.matched++;
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.pauses.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.pauses.add(end);
    });
  }
}

function isServed(status: number): boolean {
  return status >= 200 && status < 300;
}
