import type { Deadlines } from '../../stores/deadlines.js';
import { abandonedBy } from '../../stores/receipt.js';
import type { Charge, ChargeReceipt, RateLimitStore, Verdict } from '../../stores/store.js';
import { lackOf, type StoreTraits } from '../../stores/traits.js';
import { StoreUnavailableError } from '../../stores/unavailable.js';
import type { Answer } from '../../util/answer.js';
import { adopted, isPromise } from '../../util/is-promise.js';
import type { StoreDecider } from '../../charges/decider.js';

/** Notes an answer until it is there. */
type Track = <T>(answer: T) => T;

/**
 * Makes the store the innermost decider, which answers or fails every request within the deadline.
 *
 * An in-process store needs no deadline, and `RedisStore` keeps the deadline by itself, for many requests at a time. Only the
 * verdicts of an application's store are checked.
 *
 * @param refund takes back what a late answer has charged
 * @param track is given each answer of an application's store; default: nothing is done with it
 */
export function withinDeadline(
  store: RateLimitStore,
  traits: StoreTraits,
  deadlines: Deadlines,
  refund: (receipts: readonly ChargeReceipt[]) => void,
  track: Track = (answer) => answer,
): StoreDecider {
  const { decidePatiently } = traits;
  const ask = traits.keepsDeadline
    ? (charges: readonly Charge[]): Answer<Verdict> => store.consume(charges)
    : checking(store, traits, track, (answer, charges) =>
        deadlines.within(answer, (verdict) => {
          const abandoned = abandonedBy(charges, verdict);
          if (abandoned.length > 0) refund(abandoned);
        }),
      );
  return {
    decidePatiently:
      decidePatiently ?? (traits.keepsDeadline ? ask : checking(store, traits, track, (answer) => answer)),
    decide({ charges, execution }) {
      const missed = execution?.missedDeadline;
      // The store missed the deadline in another part of this execution: do not ask it again.
      if (missed !== undefined) throw new StoreUnavailableError(missed.message, false);
      return ask(charges);
    },
  };
}

function checking(
  store: RateLimitStore,
  traits: StoreTraits,
  track: Track,
  wait: (answer: Promise<Verdict>, charges: readonly Charge[]) => Promise<Verdict>,
) {
  return (charges: readonly Charge[]): Answer<Verdict> => {
    if (!traits.shadow || !traits.block) checkCharges(charges, traits);
    const answer = store.consume(charges);
    // A synchronous answer is not awaited: a renewal on a test's clock has to be done before the clock advances.
    if (!isPromise(answer)) return checked(answer, charges.length);
    // Checked before the wait: a late answer may be anything, too.
    const verdict = adopted(track(answer)).then((given) => checked(given, charges.length));
    return wait(verdict, charges);
  };
}

/** Checks policies that first appear at run time; boot checks the others. */
function checkCharges(charges: readonly Charge[], traits: StoreTraits): void {
  for (const charge of charges) {
    const lack = lackOf(traits, charge);
    if (lack !== undefined) throw new TypeError(lack);
  }
}

/**
 * Copies a verdict without anything that the application's store may have added.
 *
 * @throws {TypeError} when the store has answered with anything else
 */
function checked(verdict: Verdict, length: number): Verdict {
  const charges = verdict?.charges;
  if (charges?.length !== length || charges.some((charge) => typeof charge?.allowed !== 'boolean')) {
    throw new TypeError('its answer is no verdict');
  }
  return { allowed: verdict.allowed, at: verdict.at, charges };
}
