import { DenialCache } from '../../../libs/rate-limit/src/engine/layers/denial-cache.js';
import { LimiterUnavailableError } from '../../../libs/rate-limit/src/engine/errors.js';
import { Fallback } from '../../../libs/rate-limit/src/engine/fallback.js';
import { Engine } from '../../../libs/rate-limit/src/engine/engine.js';
import { StoreGateway } from '../../../libs/rate-limit/src/engine/store-gateway.js';
import { Monitor } from '../../../libs/rate-limit/src/metrics/monitor.js';
import { bindPolicy, type BoundPolicy } from '../../../libs/rate-limit/src/policy/bound-policy.js';
import type { Decision } from '../../../libs/rate-limit/src/policy/decision.js';
import { parsePolicy } from '../../../libs/rate-limit/src/policy/parse-policy.js';
import type { Policy } from '../../../libs/rate-limit/src/policy/policy.js';
import { Deadlines } from '../../../libs/rate-limit/src/stores/deadlines.js';
import { MemoryStore } from '../../../libs/rate-limit/src/stores/memory/memory.store.js';
import { type RateLimitStore, RateLimitStoreError } from '../../../libs/rate-limit/src/stores/store.js';
import { mulberry32 } from '../../../libs/riders/mulberry32.js';

/** Milliseconds of true time after which a call that got lost fails. */
const DEADLINE = 50;
const QUIET = { warn: (): void => undefined };

/** Tasks on a clock of their own, in milliseconds: one after the other, each with all that it settles at once. */
export class VirtualTime {
  now = 1_719_360_000_000;
  private readonly tasks: { readonly at: number; readonly task: () => void }[] = [];

  at(at: number, task: () => void): void {
    const { tasks } = this;
    let [low, high] = [0, tasks.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (tasks[middle]!.at > at) low = middle + 1;
      else high = middle;
    }
    tasks.splice(low, 0, { at, task }); // the next one is the last
  }

  async run(until: number): Promise<void> {
    for (let next = this.tasks.at(-1); next !== undefined && next.at <= until; next = this.tasks.at(-1)) {
      this.tasks.pop();
      this.now = Math.max(this.now, next.at);
      next.task();
      await new Promise(setImmediate);
    }
    this.now = until;
  }
}

/** What may go wrong. */
export interface Troubles {
  /** The largest part by which a pod's clock is fast or slow. */
  readonly drift: number;
  /** The part of calls that get lost, half of them after they were carried out. */
  readonly loss: number;
  /** Milliseconds of true time after which each pod dies, in turn; another one takes its place. */
  readonly deathEvery?: number;
}

/** One admission, by true time. */
export interface Admission {
  readonly at: number;
  readonly cost: number;
}

/** Pods that decide with one store, over a network with delays, each by a clock of its own. */
export class VirtualPods {
  readonly time = new VirtualTime();
  readonly store = new MemoryStore({ clock: () => Math.floor(this.time.now * 1000) });
  readonly admissions: Admission[] = [];
  readonly decidedBy: Record<string, number> = {};
  calls = 0;
  readonly policies: readonly BoundPolicy[];
  private readonly pods: Engine[] = [];
  private readonly random: () => number;

  constructor(
    policies: readonly Policy[],
    private readonly troubles: Troubles,
    count: number,
    seed: number,
  ) {
    this.random = mulberry32(seed);
    this.policies = policies.map((policy, i) => bindPolicy(parsePolicy(policy, 'pods', `p${i}`), 'sim', 'app', 'pods'));
    for (let i = 0; i < count; i++) this.pods.push(this.pod());
    const { deathEvery } = troubles;
    const die = (i: number): void => {
      this.pods[i % count] = this.pod();
      this.time.at(this.time.now + deathEvery!, () => die(i + 1));
    };
    if (deathEvery !== undefined) this.time.at(this.time.now + deathEvery, () => die(0));
  }

  /** The tokens that are left of the first policy, as the store says it. */
  remaining(identity: string): number {
    const { key, algorithm } = this.pods[0]!.charge(this.policies[0]!, identity, 0);
    return this.store.consume([{ key, algorithm, cost: 0, mode: 'peek' }]).charges[0]!.remaining;
  }

  /** Tokens prefetched that were neither used nor returned, over all pods that live. */
  get expired(): number {
    return this.pods.reduce((sum, { prefetch }) => sum + prefetch.expired, 0);
  }

  /** Forgets the states of the policies in one pod. */
  async reset(pod: number, identity: string): Promise<void> {
    const limiter = this.pods[pod]!;
    await limiter.reset(this.policies.map((policy) => limiter.charge(policy, identity, 0).key));
  }

  /** A request to one pod. Records it where it is admitted. */
  async ask(pod: number, identity: string, cost = 1): Promise<Decision | undefined> {
    const limiter = this.pods[pod]!;
    const charges = this.policies.map((policy) => limiter.charge(policy, identity, cost));
    try {
      const answer = limiter.decision(charges);
      // What a prefetch pays is admitted at once; what the store decides, when it decides.
      const now = this.time.now;
      const decision = await answer;
      this.decidedBy[decision.decidedBy] = (this.decidedBy[decision.decidedBy] ?? 0) + 1;
      if (!decision.allowed) return decision;
      const byStore = decision.decidedBy === 'store';
      this.admissions.push({ at: byStore ? decision.decidedAtMs : now, cost });
      return decision;
    } catch (error) {
      if (error instanceof LimiterUnavailableError) return undefined; // the store did not answer: closed
      throw error;
    }
  }

  private pod(): Engine {
    const { time, random: roll } = this;
    const [rate, offset] = [1 + (2 * roll() - 1) * this.troubles.drift, roll() * 1e6];
    const store: RateLimitStore = {
      supports: ['shadow', 'block', 'prefetch'],
      traits: { keepsDeadline: true, notesDenials: true },
      consume: (charges) => this.call(() => this.store.consume(charges)),
      refund: (receipts) => this.call(() => this.store.refund(receipts)),
      reset: (keys) => this.store.reset(keys),
      timer: (ms, task) => {
        let isCancelled = false;
        time.at(time.now + ms / rate, () => isCancelled || task());
        return () => (isCancelled = true);
      },
    };
    const monotonicMs = (): number => offset + time.now * rate;
    const denials = new DenialCache(1000, monotonicMs);
    const noted: RateLimitStore = {
      ...store,
      consume: async (charges) => {
        const sentAt = monotonicMs();
        const verdict = await store.consume(charges);
        denials.note(charges, verdict, sentAt);
        return verdict;
      },
    };
    const settings = { store: noted, deadlines: new Deadlines(1e9), denials, monotonicMs };
    const gateway = new StoreGateway(settings, QUIET);
    const fallback = new Fallback({ onStoreFailure: 'closed', localShare: 1, fallbackMaxBytes: 1e6 }, QUIET);
    return new Engine('sim', gateway, fallback, new Monitor({}, QUIET));
  }

  private call<T>(carryOut: () => T): Promise<T> {
    const { time, random: roll, troubles } = this;
    this.calls++;
    const [there, back, fate] = [0.1 + roll() * 2, 0.1 + roll() * 2, roll()];
    return new Promise<T>((resolve, reject) => {
      if (fate < troubles.loss) {
        if (fate < troubles.loss / 2) time.at(time.now + there, carryOut);
        time.at(time.now + DEADLINE, () => reject(new RateLimitStoreError('lost')));
        return;
      }
      time.at(time.now + there, () => {
        const result = carryOut();
        time.at(time.now + back, () => resolve(result));
      });
    });
  }
}
