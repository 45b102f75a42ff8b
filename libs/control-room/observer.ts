import { Injectable } from '@nestjs/common';
import { type LimitExplanation, RateLimiter } from 'nestjs-floodgate';
import { deciderOf } from './decider.js';
import { type Lane, lanesOf } from './lanes.js';
import type { LaneTick, MatchingTick, PolicyTick, Room, Tick } from './live.js';
import { OwnClients } from './own-clients.js';
import { policyTicksOf } from './policy-tick.js';
import { Pods } from './pods/pods.js';
import { RiderPlans } from './rider-plans.js';
import { RoomApplication } from './room-application.js';
import { rounded } from './stage/recent-answers.js';
import { Stage } from './stage/stage.js';

type Policies = readonly (PolicyTick | null)[];

/** Collects the figures that the page shows. */
@Injectable()
export class Observer {
  private readonly lanes: readonly Lane[];
  /** What the last look saw of each lane, by lane and rider. */
  private readonly before = new Map<string, Policies>();
  /** Riders of whom the limiter does not know the plan, because they have sent no request to this process. */
  private readonly unplanned: Set<string>;
  private matchingTick: MatchingTick | undefined;
  private matchingAsked = false;

  constructor(
    private readonly application: RoomApplication,
    private readonly limiter: RateLimiter,
    private readonly stage: Stage,
    private readonly clients: OwnClients,
    private readonly plans: RiderPlans,
    private readonly pods: Pods,
  ) {
    this.lanes = lanesOf(application);
    this.unplanned = new Set(application.riders);
  }

  room(): Room {
    return {
      mode: this.application.mode,
      riders: this.application.riders,
      lanes: this.lanes.map(({ description }) => description),
      surge: this.stage.description,
      pods: this.pods.room(),
      history: { process: this.clients.history, worlds: this.stage.history },
    };
  }

  async tick(): Promise<Tick> {
    this.askMatching();
    const { riders, limited, usesRedis } = this.application;
    // All in one turn of the event loop: the limiter asks Redis once for them.
    const looks = await Promise.all(
      this.lanes.map((lane) => Promise.all(riders.map((rider) => this.look(lane, rider)))),
    );
    const at = Math.max(...looks.flat().map((look) => (look === undefined ? 0 : Date.parse(look.at)))) || Date.now();
    return {
      at,
      enforced: limited,
      decider: deciderOf(limited, usesRedis, this.limiter),
      lanes: Object.fromEntries(this.lanes.map((lane, i) => [lane.description.id, this.laneTick(lane, looks[i]!)])),
      matching: this.matchingTick,
      process: this.clients.sample(),
      surge: this.stage.tick(),
      pods: this.pods.tick(),
    };
  }

  private laneTick(lane: Lane, looks: readonly (LimitExplanation | undefined)[]): LaneTick {
    const riders = this.application.riders.map((rider, i) => [rider, this.policiesOf(lane, rider, looks[i])] as const);
    return { ...this.clients.countsOf(lane.description), riders: Object.fromEntries(riders) };
  }

  private policiesOf(
    { description: { id, policies } }: Lane,
    rider: string,
    look: LimitExplanation | undefined,
  ): Policies | null {
    if (look === undefined) return null;
    const key = `${id} ${rider}`;
    const seen = policyTicksOf(policies, look, this.application.pods, this.before.get(key));
    this.before.set(key, seen);
    return seen;
  }

  /** Undefined when the limiter cannot answer. The library logs the reason. */
  private async look({ route, hasPlans }: Lane, rider: string): Promise<LimitExplanation | undefined> {
    const identity = { kind: 'user', value: rider };
    const plan = hasPlans && this.unplanned.has(rider) ? this.plans.of(rider) : undefined;
    try {
      const [known, assumed] = await Promise.all([
        this.application.routes.explain(route, identity),
        plan === undefined ? undefined : this.application.routes.explain(route, identity, { plan }),
      ]);
      if (!hasPlans) return known;
      if (known.policies.every((one) => one.plan === null || one.plan.isKnown)) {
        this.unplanned.delete(rider);
        return known;
      }
      this.unplanned.add(rider);
      return assumed ?? known;
    } catch {
      return undefined;
    }
  }

  /** Does not wait: a slow or unavailable matching service must not delay the other figures. */
  private askMatching(): void {
    if (this.matchingAsked) return;
    this.matchingAsked = true;
    void this.application
      .matchingLoad()
      .then(({ recent, waiting, workers }): MatchingTick => ({
        utilisation: rounded(recent.utilisation, 3),
        p99WaitMs: rounded(recent.waitMs.p99, 1),
        waiting,
        workers,
      }))
      .catch(() => undefined)
      .then((tick) => {
        this.matchingTick = tick;
        this.matchingAsked = false;
      });
  }
}
