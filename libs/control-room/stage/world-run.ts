import { type Answer, Crowd, HttpSender, type RiderRequest } from '../../riders/index.js';
import type { City } from './city.js';
import { DrawnSample } from './drawn-sample.js';
import { FOLLOWED, FollowedRider } from './followed-rider.js';
import { rounded } from './recent-answers.js';
import { kindOf, RiderMeter } from './rider-meter.js';
import type { FollowedRider as FollowedTick, RunPhase, Sample, WorldTick } from './surge-tick.js';
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
  private readonly drawn = new DrawnSample();
  private readonly crowd: Crowd;
  private readonly sender: HttpSender;
  private readonly followed: FollowedRider;
  private readonly followedTotal = { sent: 0, served: 0, refused: 0, failed: 0 };
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
    this.sender = new HttpSender([world.origin]);
    this.crowd = new Crowd({
      riders: city.riders,
      demand: city.calmDemand,
      seed: SEED,
      pods: 1,
      send: (request, _pod, lateMs) => this.send(request, lateMs),
    });
    this.followed = new FollowedRider(SEED, (request) => this.send(request, 0));
    this.demand(city.calmDemand);
  }

  start(): void {
    this.crowd.start();
    this.followed.start();
  }

  demand(perSecond: number): void {
    this.crowd.setDemand(perSecond);
    this.drawn.expect(perSecond);
  }

  /** Sends no further requests. Resolves when all are answered. */
  async stop(): Promise<void> {
    this.followed.stop();
    await this.crowd.stop();
    await Promise.all(this.open);
    await this.sender.close();
  }

  /** Ends all requests. */
  async abort(): Promise<void> {
    this.followed.stop();
    const stopped = this.crowd.stop();
    await this.sender.close();
    await stopped;
  }

  sample(look: WorldLook): Sample {
    const { enforced, decider, waiting, utilisation } = look;
    const { atMs } = this.time;
    const { p99Ms, ...rates } = this.meter.now(atMs);
    return {
      atMs: Math.round(atMs),
      ...rates,
      p99Ms: p99Ms && rounded(p99Ms, 1),
      waiting,
      utilisation: rounded(utilisation, 3),
      enforced,
      decider,
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

  tick(look: WorldLook): WorldTick {
    return {
      sample: this.sample(look),
      total: this.meter.total,
      servedShare: { rides: this.meter.servedShareOf('rides'), estimates: this.meter.servedShareOf('fares') },
      drawn: this.drawn.take(),
      followed: followedTick(look, { ...this.followedTotal }),
    };
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
    const isFollowed = request.riderId === FOLLOWED;
    const answered = this.meter.sent(phase, request.route, atMs);
    const draw = this.drawn.note(request, isFollowed, Math.round(atMs));
    if (isFollowed) this.followedTotal.sent++;
    const answer = await this.sender.send(request, 0).catch((): Answer => ({ status: 0 }));
    const answeredAtMs = this.time.atMs;
    answered(answer, answeredAtMs);
    draw?.(answer, Math.round(answeredAtMs));
    if (isFollowed) this.followedTotal[kindOf(answer.status)]++;
    return answer;
  }
}

/** What the page shows of a world without a run. */
export function idleTick({ enforced, decider, waiting, utilisation, policies, at }: WorldLook): WorldTick {
  const nothing = { sent: 0, served: 0, refused: 0, failed: 0 };
  return {
    sample: {
      atMs: 0,
      served: 0,
      refused: 0,
      failed: 0,
      p99Ms: null,
      rides: 0,
      waiting,
      utilisation,
      enforced,
      decider,
    },
    total: nothing,
    servedShare: { rides: null, estimates: null },
    drawn: { oneOf: 1, sent: [], answered: [] },
    followed: followedTick({ policies, at }, nothing),
  };
}

function followedTick(
  { policies, at }: Pick<WorldLook, 'policies' | 'at'>,
  total: FollowedTick['total'],
): FollowedTick {
  return { id: FOLLOWED, policies, at, total };
}
