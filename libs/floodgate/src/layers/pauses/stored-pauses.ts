import { TokenBucket } from '../../algorithms/token-bucket/token-bucket.js';
import { globalTag } from '../../identity/identity-tag.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import { keyOf, pauseTail } from '../../policy/key.js';
import { withinLoopTime } from '../../stores/loop-timer.js';
import type { Charge, ChargeVerdict, Verdict } from '../../stores/store.js';
import { lackOf, type StoreTraits } from '../../stores/traits.js';
import { type Answer, andThen, attempt } from '../../util/answer.js';
import { asking, type Decider, type Front, type LimitedRequest } from '../../charges/decider.js';
import { type LayerVerdict, UNCOUNTED } from '../../charges/layer-verdict.js';
import { LONGEST_PAUSE_MS } from './longest-pause.js';
import { chargeOf, type PolicyCharge } from '../../charges/policy-charge.js';

const MICROSECONDS = 1000;
/** Milliseconds that a pause may take to reach the store: no decision waits for it. */
const PATIENCE_MS = 2000;

/**
 * A pause is a bucket of milliseconds: a pause of 2 s takes 2,000 tokens, one comes back each millisecond, and calls wait until all
 * are back. So each store can keep pauses, reads one in the step that decides the call, and forgets it when it has ended.
 */
const MILLISECONDS = new TokenBucket(LONGEST_PAUSE_MS, { tokens: 1, microseconds: MICROSECONDS, rounded: false });

/** The most pauses that a process remembers for an outage of the store: the last ones. */
const MAX_KNOWN = 10_000;

/** The policies of pauses, by the policy that is paused: with its numbers, or with those of a plan. */
const POLICIES = new WeakMap<BoundPolicy, BoundPolicy>();

/** What pauses need of the store. */
export interface PauseStore {
  readonly chain: Decider;
  readonly traits: StoreTraits;
  decidePatiently(charges: readonly Charge[]): Answer<Verdict>;
}

/**
 * The pauses that the store keeps for all processes. As a layer it stops the calls of paused policies. While the store does not
 * answer, the pauses that this process has met stay.
 */
export class StoredPauses implements Front {
  /** When the pauses end that this process has met, in milliseconds of `nowMs`, by their keys. */
  private readonly known = new Map<string, number>();

  constructor(
    private readonly store: PauseStore,
    private readonly nowMs: () => number,
  ) {}

  over(store: Decider): Decider {
    return { decide: (request) => this.decide(store, request) };
  }

  private decide(store: Decider, request: LimitedRequest): Answer<LayerVerdict> {
    const { charges } = request;
    const pauses = charges.map((charge) => (charge.shadow ? undefined : pauseOf(charge))); // a shadow stops nothing
    const asked = [...charges, ...pauses.filter((pause) => pause !== undefined)];
    return andThen(store.decide(asking(request, asked)), ({ allowed, at, source, charges: verdicts }) => {
      let next = charges.length;
      const waits = pauses.map((pause) => {
        if (pause === undefined) return 0;
        const wait = verdicts[next++]!.retryAfter;
        this.note(pause, wait / MICROSECONDS);
        return wait;
      });
      const own = verdicts.slice(0, charges.length);
      return allowed ? { allowed, at, source, charges: own } : { ...stoppedBy(waits, charges, own), at, source };
    });
  }

  /** Without the store, calls wait for the pauses that are known. */
  overLocal(fallback: Decider): Decider {
    return {
      decide: (request) => {
        const { charges } = request;
        const waits = charges.map((charge) => (charge.shadow ? 0 : this.knownFor(pauseOf(charge)) * MICROSECONDS));
        if (waits.every((wait) => wait <= 0)) return fallback.decide(request);
        const own = charges.map(() => UNCOUNTED);
        return { ...stoppedBy(waits, charges, own), at: Date.now() * MICROSECONDS, source: 'local' };
      },
    };
  }

  /** Milliseconds until the pause of each charge's policy ends, as far as is known where the store fails; 0 where it is not paused. */
  left(charges: readonly PolicyCharge[]): Answer<readonly number[]> {
    const pauses = charges.map(pauseOf);
    return attempt(
      () => this.store.chain.decide({ charges: pauses }),
      ({ charges: verdicts }) => verdicts.map(({ retryAfter }) => retryAfter / MICROSECONDS),
      () => pauses.map((pause) => Math.max(0, this.knownFor(pause))),
    );
  }

  /**
   * Pauses the policy of a charge for all processes. A longer pause stays.
   *
   * @throws the store's failure; the pause may have been noted all the same
   */
  async set(charge: PolicyCharge, ms: number): Promise<void> {
    const { store } = this;
    const pause = pauseOf(charge);
    const target = Math.ceil(ms);
    const headroom = LONGEST_PAUSE_MS - target;
    const lack = lackOf(store.traits, { headroom });
    if (lack !== undefined) throw new TypeError(lack);
    for (let known = 0; known < target;) {
      // Fits where no more than what is known is paused, so that pauses do not add up.
      const extension = { ...pause, mode: 'take', cost: target - known, headroom } as const;
      const answer = Promise.resolve(store.decidePatiently([extension]));
      const { allowed, charges } = await withinLoopTime(PATIENCE_MS, answer);
      known = allowed ? target : Math.ceil(charges[0]!.resetAfter / MICROSECONDS);
      this.note(pause, known);
    }
  }

  /** Forgets the pauses under some keys, which were reset. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.known.delete(key);
  }

  private note({ key }: PolicyCharge, ms: number): void {
    this.known.delete(key); // the last one comes last
    if (ms <= 0) return;
    this.known.set(key, this.nowMs() + ms);
    if (this.known.size > MAX_KNOWN) this.known.delete(this.known.keys().next().value!);
  }

  private knownFor({ key }: PolicyCharge): number {
    return (this.known.get(key) ?? 0) - this.nowMs();
  }
}

/** The key of the pause of a policy for an identity, under all of its plans. */
export function pauseKey(policy: BoundPolicy, tag: string): string {
  return keyOf(policy.keyPrefix, tag, pauseTail(policy));
}

/** Asks whether the policy of a charge is paused: whether all of its milliseconds are back. */
function pauseOf({ policy, identity }: PolicyCharge): PolicyCharge {
  let pause = POLICIES.get(policy);
  if (pause === undefined) {
    pause = {
      ...policy,
      algorithm: MILLISECONDS,
      keyTail: pauseTail(policy),
      globalKey: policy.globalKey && pauseKey(policy, globalTag(policy.name)),
      headroom: 0,
      shadow: false,
      block: undefined,
      else: undefined,
      plans: undefined,
      prefetch: undefined,
      shardKeys: undefined,
    };
    POLICIES.set(policy, pause);
  }
  return chargeOf(pause, identity, LONGEST_PAUSE_MS, 'peek');
}

/**
 * What paused policies say to a rejected request, as ones that block the identity: to their whole rows, the policies that their `else`
 * leads to and those before them.
 *
 * @param waits microseconds; 0 where a policy is not paused
 */
function stoppedBy(
  waits: readonly number[],
  charges: readonly PolicyCharge[],
  verdicts: readonly ChargeVerdict[],
): Pick<LayerVerdict, 'allowed' | 'charges' | 'isPaused'> {
  const all = [...waits];
  for (let i = all.length - 1; i > 0; i--) if (charges[i]!.alternative) all[i - 1] = Math.max(all[i - 1]!, all[i]!);
  for (let i = 1; i < all.length; i++) if (charges[i]!.alternative) all[i] = all[i - 1]!;
  const stopped = verdicts.map((verdict, i) => {
    const wait = all[i]!;
    if (wait <= 0) return verdict;
    const [resetAfter, retryAfter] = [Math.max(verdict.resetAfter, wait), Math.max(verdict.retryAfter, wait)];
    return { allowed: false, remaining: 0, resetAfter, retryAfter, delay: 0, blockedFor: wait };
  });
  return { allowed: false, charges: stopped, isPaused: waits.some((wait) => wait > 0) };
}
