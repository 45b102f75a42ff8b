import { Injectable } from '@nestjs/common';
import { type Decision, RateLimiter } from 'nestjs-floodgate';
import { Configuration } from '../config/configuration.js';
import { Enforcement } from '../limits/enforcement.js';
import { routeName, RouteTraffic } from '../limits/route-traffic.js';
import { Matching } from '../matching/matching.js';
import { Concert } from './concert.js';
import { type Lane, lanesOf } from './lanes.js';
import type { Decider, LaneTick, MatchingTick, Room, Tick } from './live.js';
import { type PolicyState, stateOf } from './policy-state.js';
import { ROOM_RIDER } from './trial.js';

const IDENTITY = { kind: 'user', value: ROOM_RIDER };

/** Sees what the page shows. */
@Injectable()
export class Observer {
  private readonly lanes: readonly Lane[];
  /** By lane, of each of its policies. */
  private readonly before = new Map<string, readonly PolicyState[]>();
  private matchingTick: MatchingTick | undefined;
  private matchingAsked = false;

  constructor(
    private readonly configuration: Configuration,
    private readonly limiter: RateLimiter,
    private readonly enforcement: Enforcement,
    private readonly traffic: RouteTraffic,
    private readonly matching: Matching,
    private readonly concert: Concert,
  ) {
    this.lanes = lanesOf(configuration);
  }

  room(): Room {
    return {
      mode: this.configuration.controlRoom === 'on' ? 'on' : 'watch',
      switchable: this.enforcement.switchable,
      rider: ROOM_RIDER,
      lanes: this.lanes.map(({ description }) => description),
      concert: this.concert.size,
    };
  }

  async tick(): Promise<Tick> {
    this.askMatching();
    const looks = await Promise.all(this.lanes.map((lane) => this.look(lane)));
    const at = Math.max(...looks.map((look) => look?.decidedAtMs ?? 0)) || Date.now();
    return {
      at: Math.round(at),
      enforced: this.enforcement.on,
      decider: this.decider(),
      lanes: Object.fromEntries(this.lanes.map((lane, i) => [lane.description.id, this.laneTick(lane, looks[i])])),
      matching: this.matchingTick,
      concert: this.concert.tick(),
    };
  }

  private laneTick({ description: { id, policies }, controller, handler }: Lane, look: Decision | undefined): LaneTick {
    const counts = this.traffic.of(routeName(controller, handler));
    if (look === undefined) return { ...counts, state: undefined };
    const before = this.before.get(id);
    const state = policies.flatMap((policy, i) => {
      const said = look.policies.find((one) => one.policy === policy.name);
      return said === undefined ? [] : [stateOf(policy, said, look.decidedAtMs, before?.[i])];
    });
    this.before.set(id, state);
    return { ...counts, state };
  }

  /** Undefined when nobody can say; the log says why. */
  private look({ controller, handler }: Lane): Promise<Decision | undefined> {
    return this.limiter.peekRoute(controller, handler, IDENTITY).catch(() => undefined);
  }

  private decider(): Decider {
    if (!this.enforcement.on) return 'nobody';
    if (this.configuration.redisUrl === undefined) return 'process';
    return this.limiter.stats().store.available ? 'redis' : 'fallback';
  }

  /** A service that takes its time for the answer, or does not give one, delays nothing else. */
  private askMatching(): void {
    if (this.matchingAsked) return;
    this.matchingAsked = true;
    void this.matching
      .statistics()
      .then(({ recent, waiting, workers }): MatchingTick => ({
        utilisation: Math.round(recent.utilisation * 1000) / 1000,
        p99WaitMs: Math.round(recent.waitMs.p99 * 10) / 10,
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
