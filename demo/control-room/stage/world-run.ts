import { type Answer, Crowd, HttpSender, type RiderRequest } from '../../riders/index.js';
import type { WorldHistory } from '../live.js';
import type { City } from './city.js';
import { DrawnSample } from './drawn-sample.js';
import { rounded } from './recent-answers.js';
import { kindOf, NO_RIDES, RiderMeter } from './rider-meter.js';
import type { RunPhase, Sample, WorldTick } from './surge-tick.js';
import type { World } from './world.js';
import type { WorldLook } from './run-world.js';

/** The first p99 that is too long for a rider who waits. */
export const SLOW_MS = 500;

/** Both worlds get the same requests in every run. */
const SEED = 1;

/** The time of a run, which both worlds share. */
export interface RunTime {
  /** Milliseconds since the run began. */
  readonly atMs: number;
  readonly phase: RunPhase;
}

/** The riders of a run in one world, and what they get. */
export class WorldRun {
  readonly meter = new RiderMeter();
  readonly samples: Sample[] = [];
  private readonly drawn: DrawnSample;
  private readonly crowd: Crowd;
  private readonly sender: HttpSender;
  private readonly open = new Set<Promise<Answer>>();
  /** Since when p99 has been below `SLOW_MS`. */
  private quickSinceMs: number | null = null;

  /** @param onSent called with the lateness of every request */
  constructor(
    readonly world: World,
    city: City,
    private readonly time: RunTime,
    private readonly onSent: (lateMs: number) => void,
  ) {
    this.drawn = new DrawnSample(city.drawnOneOf);
    this.sender = new HttpSender([world.origin]);
    this.crowd = new Crowd({
      riders: city.riders,
      demand: city.demand,
      seed: SEED,
      pods: 1,
      send: (request, _pod, lateMs) => this.send(request, lateMs),
    });
  }

  start(): void {
    this.crowd.start();
  }

  /** Sends no further requests. Resolves when all are answered. */
  async stop(): Promise<void> {
    await this.crowd.stop();
    await Promise.all(this.open);
    await this.sender.close();
  }

  get history(): WorldHistory {
    return { samples: this.samples, dots: this.drawn.dots };
  }

  /** Ends all requests. */
  async abort(): Promise<void> {
    const stopped = this.crowd.stop();
    await this.sender.close();
    await stopped;
  }

  sample({ enforced, decider, waiting }: WorldLook, redisAway: boolean): Sample {
    const { atMs, phase } = this.time;
    const { p99Ms, ...rates } = this.meter.now(atMs);
    return {
      atMs: Math.round(atMs),
      phase,
      ...rates,
      sent: this.meter.total,
      p99Ms: p99Ms && rounded(p99Ms, 1),
      waiting,
      enforced,
      decider,
      redisAway,
    };
  }

  /** Looks whether riders are served quickly. */
  watch({ p99Ms, atMs }: Sample): void {
    if (p99Ms === null || p99Ms >= SLOW_MS) this.quickSinceMs = null;
    else this.quickSinceMs ??= atMs;
  }

  /** Seconds from an instant until p99 stayed below `SLOW_MS`; null: it did not. */
  quickAfterS(sinceMs: number): number | null {
    const { quickSinceMs } = this;
    return quickSinceMs === null ? null : rounded(Math.max(0, quickSinceMs - sinceMs) / 1000, 1);
  }

  tick(look: WorldLook, redisAway: boolean): WorldTick {
    return { sample: this.sample(look, redisAway), rush: this.meter.ridesOf('surge'), drawn: this.drawn.take() };
  }

  private send(request: RiderRequest, lateMs: number): Promise<Answer> {
    this.onSent(lateMs);
    const answer = this.ask(request);
    this.open.add(answer);
    void answer.finally(() => this.open.delete(answer));
    return answer;
  }

  private async ask(request: RiderRequest): Promise<Answer> {
    const { atMs, phase } = this.time;
    const answered = this.meter.sent(phase, atMs, request.route);
    const draw = request.route === 'rides' ? this.drawn.note(Math.round(atMs)) : undefined;
    const answer = await this.sender.send(request, 0).catch((): Answer => ({ status: 0 }));
    const answeredAtMs = this.time.atMs;
    answered(answer, answeredAtMs);
    draw?.(kindOf(answer.status), Math.round(answeredAtMs));
    return answer;
  }
}

/** What the page shows of a world without a run. */
export function idleTick({ enforced, decider, waiting }: WorldLook, redisAway: boolean): WorldTick {
  return {
    sample: {
      atMs: 0,
      phase: 'surge',
      served: 0,
      refused: 0,
      failed: 0,
      p99Ms: null,
      rides: 0,
      sent: 0,
      waiting,
      enforced,
      decider,
      redisAway,
    },
    rush: NO_RIDES,
    drawn: { sent: [], answered: [] },
  };
}
