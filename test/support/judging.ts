import { decisionOf, Judgement } from '../../libs/floodgate/src/charges/judgement.js';
import { OpenCharges } from '../../libs/floodgate/src/layers/estimates/open-charges.js';
import { chargeOf, type PolicyCharge } from '../../libs/floodgate/src/charges/policy-charge.js';
import { bindPolicy, type BoundPolicy } from '../../libs/floodgate/src/policy/bound-policy.js';
import type { Decision, PolicyDecision } from '../../libs/floodgate/src/policy/decision.js';
import { parsePolicy } from '../../libs/floodgate/src/policy/parse-policy.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import type { ChargeMode } from '../../libs/floodgate/src/stores/charge.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { TestClock } from './test-clock.js';

/** The beginning of a day, and so of every window that divides one. */
const MIDNIGHT = 19_900 * 86_400_000_000;

/** Decides requests of one identity by some policies, as the engine does; its clock moves only by the test. */
export class Judging {
  readonly clock = new TestClock(MIDNIGHT);
  private readonly policies: readonly BoundPolicy[];
  private readonly store = new MemoryStore({ clock: this.clock.read });
  private readonly open = new OpenCharges();

  constructor(
    policies: readonly Policy[],
    private readonly identity = 'user:ada',
  ) {
    this.policies = policies.map((policy) => bindPolicy(parsePolicy(policy, 'test'), 'rl', 'GET /', 'test'));
  }

  get keys(): string[] {
    return this.charges(1, 'peek').map(({ key }) => key);
  }

  /** The policies' windows in microseconds. */
  get windows(): number[] {
    return this.policies.map(({ algorithm }) => algorithm.window);
  }

  take(cost = 1): Decision {
    return this.judge(cost).decision;
  }

  judge(cost = 1): Judgement {
    const charges = this.charges(cost, 'take');
    return Judgement.of(charges, this.store.consume(charges), undefined);
  }

  /** Decides a request that is settled later. It stays open. */
  reserve(cost = 1): Decision {
    const charges = this.charges(cost, 'reserve');
    return decisionOf(
      charges,
      this.open.decide(charges, (asked) => this.store.consume(asked)),
    );
  }

  /** What the first policy says some seconds later. The clock stays. */
  after(seconds: number): PolicyDecision {
    this.clock.now += seconds * 1_000_000;
    const charges = this.charges(0, 'peek');
    const { policies } = decisionOf(charges, this.store.consume(charges));
    this.clock.now -= seconds * 1_000_000;
    return policies[0]!;
  }

  private charges(cost: number, mode: ChargeMode): PolicyCharge[] {
    return this.policies.map((policy) => chargeOf(policy, this.identity, cost, mode));
  }
}
