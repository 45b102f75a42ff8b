import { DenialCache } from '../../libs/floodgate/src/layers/denials/denial-cache.js';
import { LimiterUnavailableError } from '../../libs/floodgate/src/charges/errors.js';
import type { LimiterParts } from '../../libs/floodgate/src/limiter/limiter-parts.js';
import { chargeOf, type PolicyCharge } from '../../libs/floodgate/src/charges/policy-charge.js';
import { partsAlone } from '../../libs/floodgate/src/limiter/parts-alone.js';
import { type OpenedStore, storeAlone } from '../../libs/floodgate/src/limiter/opened-store.js';
import { readLimiterOptions } from '../../libs/floodgate/src/limiter/options-table.js';
import { Monitor } from '../../libs/floodgate/src/watch/monitor.js';
import type { PrefetchCounts } from '../../libs/floodgate/src/watch/stats.js';
import { type BoundPolicy, bindPolicy } from '../../libs/floodgate/src/policy/bound-policy.js';
import type { Decision } from '../../libs/floodgate/src/policy/decision.js';
import { parsePolicy } from '../../libs/floodgate/src/policy/parse-policy.js';
import { Deadlines } from '../../libs/floodgate/src/stores/deadlines.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import type { OwnedClient } from '../../libs/floodgate/src/stores/redis/clients/client.js';
import { LoadedRedisStore } from '../../libs/floodgate/src/stores/redis/loaded-redis-store.js';
import { readStoreOptions } from '../../libs/floodgate/src/stores/redis/store-options.js';
import type { Clock } from '../../libs/floodgate/src/stores/store.js';
import type { Settings } from '../settings.js';
import { BEGINNING } from '../time/virtual-globals.js';
import type { Decider, Outcome } from './decider.js';

/** How keys begin. */
const PREFIX = 'rl';
/** The module's default. */
const DENIAL_CACHE_MS = 1000;
/** The module keeps up to 50,000. A thousand pods in one process have no memory for that. */
const MAX_DENIALS = 1_000;
const FALLBACK_BYTES = 1_000_000;
const SILENT = { log: () => undefined, warn: () => undefined, error: () => undefined, debug: () => undefined };

/** A limit of the simulation: a token bucket. */
export interface Limit {
  readonly capacity: number;
  /** Tokens a second. */
  readonly refill: number;
  /** Whether all clients share one bucket. */
  readonly global: boolean;
  /** Default 1. */
  readonly shards?: number;
  /** The option `prefetch` of the policy. */
  readonly prefetch?: { readonly for: `${number}ms`; readonly max: number };
}

/** A policy as an application writes it. */
export function bound(policy: object): BoundPolicy {
  return bindPolicy(parsePolicy(policy, 'simulate'), PREFIX, 'app', 'simulate');
}

/** The policy of a limit. */
export function policyOf({ capacity, refill, global, shards = 1, prefetch }: Limit): BoundPolicy {
  return bound({
    name: 'simulated',
    algorithm: 'token-bucket',
    capacity,
    refill,
    by: global ? 'global' : 'user',
    scope: 'app',
    ...(shards > 1 && { shards }),
    ...(prefetch && { prefetch }),
  });
}

/** While Redis is away, a pod uses its part of the limit, of so many, unless it rejects all requests. */
export type EngineSettings = Pick<Settings, 'pods' | 'deadlineMs' | 'onStoreFailure'>;

/** The engine of one pod. */
export class PodEngine implements Decider {
  private readonly parts: LimiterParts;

  private constructor(
    private readonly policies: readonly BoundPolicy[],
    opened: OpenedStore,
    readonly connected: Promise<void>,
    private readonly clock: Clock,
    { pods, onStoreFailure = 'local' }: EngineSettings,
    monitor?: Monitor,
  ) {
    const options = { onStoreFailure, localShare: pods, fallbackMaxBytes: FALLBACK_BYTES };
    const settings = readLimiterOptions(options, 'simulate');
    this.parts = partsAlone(settings, { ...opened, fallbackClock: clock }, SILENT, monitor);
  }

  /** Decides in Redis. Several policies decide together, as those of a route do. */
  static onRedis(
    client: OwnedClient,
    policies: BoundPolicy | readonly BoundPolicy[],
    clock: Clock,
    settings: EngineSettings,
  ): PodEngine {
    const all = [policies].flat();
    const monitor = new Monitor({}, SILENT);
    const deadlines = new Deadlines(settings.deadlineMs);
    const denials = new DenialCache(DENIAL_CACHE_MS, undefined, all.some(isOfClients) ? MAX_DENIALS : 16);
    const owned = { probeKey: (number: number) => `${PREFIX}:{probe-${number}}`, logger: SILENT };
    const store = new LoadedRedisStore(client, readStoreOptions({}), { deadlines, denials, observer: monitor, owned });
    const opened = { ...storeAlone(store, settings.deadlineMs), deadlines, denials };
    return new PodEngine(all, opened, store.connect(), clock, settings, monitor);
  }

  /** Decides in the process. */
  static inMemory(policy: BoundPolicy, clock: Clock, settings: EngineSettings): PodEngine {
    const opened = storeAlone(new MemoryStore({ clock }), settings.deadlineMs);
    return new PodEngine([policy], opened, Promise.resolve(), clock, settings);
  }

  get prefetch(): PrefetchCounts {
    return this.parts.stats().prefetch;
  }

  decide(identity: string, cost = 1): Outcome | Promise<Outcome> {
    try {
      const decision = this.parts.engine.decision(this.charges(identity, cost));
      if (!(decision instanceof Promise)) return outcomeOf(decision);
      return decision.then(outcomeOf, (error: unknown) => this.unavailable(error));
    } catch (error) {
      return this.unavailable(error);
    }
  }

  /** Forgets the states of a client. */
  reset(identity: string): Promise<unknown> {
    return this.parts.engine.reset(this.charges(identity, 0).map(({ key }) => key));
  }

  /** What a request of a client charges. */
  charges(identity: string, cost: number): PolicyCharge[] {
    return this.policies.map((policy) => chargeOf(policy, identity, cost));
  }

  /** Redis did not answer, and the fallback admits nothing. */
  private unavailable(error: unknown): Outcome {
    if (!(error instanceof LimiterUnavailableError)) throw error;
    return { allowed: false, at: this.clock() - BEGINNING, by: 'closed' };
  }
}

function isOfClients({ globalKey }: BoundPolicy): boolean {
  return globalKey === undefined;
}

function outcomeOf({ allowed, decidedAtMs, decidedBy }: Decision): Outcome {
  return { allowed, at: Math.round(decidedAtMs * 1000) - BEGINNING, by: decidedBy };
}
