import { Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { type Decision, RateLimiter } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import { Enforcement } from '../limits/enforcement.js';
import { Routes } from '../limits/routes.js';
import { Matching } from '../matching/matching.js';
import { Concert } from './concert.js';
import { type Lane, lanesOf } from './lanes.js';
import type { Decider, LaneTick, MatchingTick, Room, Tick } from './live.js';
import { type PolicyState, stateOf } from './policy-state.js';
import { ROOM_RIDER } from './trial.js';

const IDENTITY = { kind: 'user', value: ROOM_RIDER };

/** Collects the figures that the page shows. */
@Injectable()
export class Observer {
  private readonly lanes: readonly Lane[];
  /** The last state of each lane's policies. */
  private readonly before = new Map<string, readonly PolicyState[]>();
  private matchingTick: MatchingTick | undefined;
  private matchingAsked = false;

  constructor(
    private readonly config: ConfigService<Configuration, true>,
    private readonly routes: Routes,
    private readonly limiter: RateLimiter,
    private readonly enforcement: Enforcement,
    private readonly matching: Matching,
    private readonly concert: Concert,
  ) {
    this.lanes = lanesOf(config, routes);
  }

  room(): Room {
    return {
      mode: this.config.get('controlRoom', { infer: true }) === 'on' ? 'on' : 'watch',
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

  private laneTick({ description: { id, policies }, route }: Lane, look: Decision | undefined): LaneTick {
    const counts = this.routes.counts(route);
    if (look === undefined) return { ...counts, state: undefined };
    const before = this.before.get(id);
    const state = policies.flatMap((policy, i) => {
      const said = look.policies.find((one) => one.policy === policy.name);
      return said === undefined ? [] : [stateOf(policy, said, look.decidedAtMs, before?.[i])];
    });
    this.before.set(id, state);
    return { ...counts, state };
  }

  /** Undefined when the limiter cannot answer. The library logs the reason. */
  private look({ route }: Lane): Promise<Decision | undefined> {
    return this.routes.peek(route, IDENTITY).catch(() => undefined);
  }

  private decider(): Decider {
    if (!this.enforcement.on) return 'none';
    if (this.config.get('redisUrl', { infer: true }) === undefined) return 'process';
    return this.limiter.stats().store.available ? 'redis' : 'fallback';
  }

  /** Does not wait: a slow or unavailable matching service must not delay the other figures. */
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
