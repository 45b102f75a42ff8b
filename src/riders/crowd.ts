import { Random } from './random.js';
import { REQUESTS_PER_VISIT, Rider, type RiderRequest, type Route } from './rider.js';

export interface CrowdOptions {
  /** Riders there are: whole, from 1. */
  readonly riders: number;
  /** Requests a second that they would send if every answer came at once: above 0. */
  readonly demand: number;
  /** Riders who come on top in the first two seconds, as the doors open: whole, from 0; default 0. */
  readonly rush?: number;
  /** Riders of the same seed ask for the same, in every run. */
  readonly seed: number;
  /** Processes to send to, in turn. */
  readonly pods: number;
  readonly send: (request: RiderRequest, pod: number) => Promise<Answer>;
  /** Told of every answer. */
  readonly onAnswer?: (observation: Observation) => void;
}

export interface Answer {
  /** Of HTTP; 0 when there was none. */
  readonly status: number;
  /** Whom a rider was matched with. */
  readonly driverId?: string;
  /** The policy that rejected. */
  readonly policy?: string;
}

/** A request and its answer. Instants are milliseconds since the start of the crowd. */
export interface Observation extends Answer {
  readonly route: Route;
  /** The rider's number, from 0. */
  readonly rider: number;
  readonly pod: number;
  /** When it should have been sent. */
  readonly dueAt: number;
  readonly sentAt: number;
  readonly answeredAt: number;
}

export interface CrowdSnapshot {
  /** Since the start. */
  readonly seconds: number;
  /** Riders with the app open, and of these, those who wait for an answer. */
  readonly inApp: number;
  readonly waiting: number;
  /** Answers so far: 2xx; of these, rides with a driver; 429; everything else. */
  readonly allowed: number;
  readonly matched: number;
  readonly rejected: number;
  readonly failed: number;
}

/** How long the rush lasts. */
const RUSH_MS = 2000;

/**
 * The riders of a surge. One opens the app, sends one to three requests, 0.1 to 0.3 s from each answer to the next request, and
 * closes it; so many come that `demand` requests a second would be sent if every answer came at once. Nobody tries a request
 * again. When answers take long, riders stay and more come, until all of them wait: as after a concert.
 *
 * @example
 * ```ts
 * const crowd = new Crowd({ riders: 2000, demand: 600, seed: 1, pods: 1, send });
 * crowd.start();
 * setInterval(() => console.log(crowd.snapshot()), 1000);
 * await crowd.stop(); // nothing more is sent; resolves when what was sent is answered
 * ```
 */
export class Crowd {
  private readonly riders: readonly Rider[];
  /** Those without the app open; who has waited for longest comes next. */
  private readonly outside: number[];
  private readonly arrivalsPerSecond: number;
  private readonly sessions = new Set<Promise<void>>();
  private readonly count = { allowed: 0, matched: 0, rejected: 0, failed: 0 };
  private waiting = 0;
  private turn = 0;
  private startedAt: number | undefined;
  private nextArrivalAt = 0;
  private arrival: NodeJS.Timeout | undefined;
  private stopped = false;
  /** Ends the pauses of those who would go on. */
  private readonly pauses = new Set<() => void>();

  constructor(private readonly options: CrowdOptions) {
    const { riders, demand, seed } = options;
    this.riders = Array.from({ length: riders }, (_, index) => new Rider(seed, index));
    this.outside = new Random(seed, riders).shuffled(this.riders.keys());
    this.arrivalsPerSecond = demand / REQUESTS_PER_VISIT;
  }

  /** @throws Error when it has been started before */
  start(): void {
    if (this.startedAt !== undefined) throw new Error('a crowd comes once: make another one');
    this.startedAt = performance.now();
    this.arrive();
  }

  /** Nothing more is sent. Resolves when what was sent has its answers. */
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

  /** Lets all those in who should have come by now. A timer that fires late makes nobody stay away. */
  private arrive(): void {
    if (this.stopped) return;
    for (; this.nextArrivalAt <= this.now(); this.nextArrivalAt += this.gapMs()) {
      const rider = this.outside.shift();
      // All are in the app already: who would have come is waiting.
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
    const rider = this.riders[index]!;
    let dueAt = openedAt;
    for (let left = rider.visit(); left > 0 && !this.stopped; left--) {
      await this.ask(index, rider.next(), dueAt);
      if (left === 1 || this.stopped) return;
      const pauseMs = rider.pauseMs();
      dueAt = this.now() + pauseMs;
      await this.pause(pauseMs);
    }
  }

  private async ask(rider: number, request: RiderRequest, dueAt: number): Promise<void> {
    const pod = this.turn++ % this.options.pods;
    const sentAt = this.now();
    this.waiting++;
    const answer = await this.options.send(request, pod).catch((): Answer => ({ status: 0 }));
    this.waiting--;
    this.note(answer);
    const { route } = request;
    this.options.onAnswer?.({ ...answer, route, rider, pod, dueAt, sentAt, answeredAt: this.now() });
  }

  private note({ status, driverId }: Answer): void {
    if (status === 429) this.count.rejected++;
    else if (status >= 200 && status < 300) this.count.allowed++;
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
