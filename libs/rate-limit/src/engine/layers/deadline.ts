import type { Deadlines } from '../../stores/deadlines.js';
import type { Charge, RateLimitStore, Verdict } from '../../stores/store.js';
import { lackOf, type StoreTraits } from '../../stores/traits.js';
import { StoreUnavailableError } from '../../stores/unavailable.js';
import type { Answer } from '../../util/answer.js';
import { adopted, isPromise } from '../../util/is-promise.js';
import type { Execution } from '../execution.js';
import { plainFirst } from '../plain.js';

/** A store, or its failure in time. */
export interface StoreDecider {
  decide(charges: readonly Charge[], execution?: Execution): Answer<Verdict>;
}

/**
 * The store as the innermost decider: every request gets its answer, or a failure within the deadline. What the store charges later
 * stays charged.
 *
 * A store in this process has no deadline to miss, and `RedisStore` keeps the deadline by itself, for many requests at a time. Only
 * the verdicts of an application's store are checked.
 */
export function withinDeadline(store: RateLimitStore, traits: StoreTraits, deadlines: Deadlines): StoreDecider {
  if (traits.plain !== undefined) return plainFirst(store, traits.plain);
  const ask = traits.keepsDeadline
    ? (charges: readonly Charge[]): Answer<Verdict> => store.consume(charges)
    : checking(store, traits, deadlines);
  return {
    decide(charges, execution) {
      const missed = execution?.missedDeadline;
      // A part of an operation is not waited for again where another part was late.
      if (missed !== undefined) throw new StoreUnavailableError(missed.message, false);
      return ask(charges);
    },
  };
}

function checking(store: RateLimitStore, traits: StoreTraits, deadlines: Deadlines) {
  return (charges: readonly Charge[]): Answer<Verdict> => {
    if (!traits.shadow || !traits.block) checkCharges(charges, traits);
    const answer = store.consume(charges);
    // Not awaited where it is there: a renewal on a test's clock has to be made before the clock goes on.
    if (!isPromise(answer)) return checked(answer, charges.length);
    return deadlines.within(adopted(answer)).then((verdict) => checked(verdict, charges.length));
  };
}

/** A policy that is met at run time; boot checks the others. */
function checkCharges(charges: readonly Charge[], traits: StoreTraits): void {
  for (const charge of charges) {
    const lack = lackOf(traits, charge);
    if (lack !== undefined) throw new TypeError(lack);
  }
}

/**
 * A verdict, and nothing that the application's store may have added to it.
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
