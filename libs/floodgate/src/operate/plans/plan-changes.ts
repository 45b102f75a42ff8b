import type { Plans } from '../../functions/plans.js';
import type { OverrideLog } from '../../stores/override-log.js';
import { RateLimitConfigError } from '../../util/config-error.js';
import type { CountedIdentities } from '../identities/counted-identities.js';
import { answered } from '../overrides/override-calls.js';
import type { KnownPolicies } from '../overrides/known-policies.js';

const WHERE = 'RateLimiter.planChanged';

/** Lets all processes ask for a client's plan anew. What one process says, the others hear as they ask for the changes of overrides. */
export class PlanChanges {
  /** @param plans undefined where no plan is looked up */
  constructor(
    private readonly plans: Pick<Plans<never>, 'forget'> | undefined,
    private readonly log: Pick<OverrideLog, 'tell'>,
    private readonly policies: Pick<KnownPolicies, 'names' | 'places'>,
    private readonly identities: Pick<CountedIdentities, 'expect' | 'tagOf'>,
  ) {}

  async changed(identity: unknown): Promise<void> {
    const { plans, policies, identities } = this;
    if (plans === undefined) {
      throw new RateLimitConfigError(
        WHERE,
        'has no effect, because no plan is looked up here: give RateLimitModule of Nest the option plan, or leave the call out',
        'FG_OPTION_WITHOUT_EFFECT',
      );
    }
    const tag = identities.tagOf(identity, WHERE);
    const planned = policies.names().flatMap((name) => policies.places(name).filter((policy) => policy.plans));
    identities.expect(planned, tag, WHERE);
    plans.forget(tag);
    await answered(WHERE, () => this.log.tell(tag));
  }

  /** Obeys what a process has said; undefined: some of it was missed. What is no tag was encrypted under an `identitySecret`. */
  heard(tag: string | undefined): void {
    this.plans?.forget(tag?.includes(':') === true ? tag : undefined);
  }
}
