import { describe, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type EntryHandle } from '../../libs/rate-limit/src/stores/memory/entry.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { type ChargeReceipt, receiptsOf } from '../../libs/rate-limit/src/stores/receipt.js';
import type { Charge, Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { FALLBACK, MovingClock } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { chargesOf, type History, historiesOf, requestsOf } from './histories.js';

/** What happens between two turns. `'repeat'` asks the last request of the turn again, by a place that is kept. */
const betweens = fc.constantFrom('nothing', 'repeat', 'refund', 'reset', 'clear');

/** A store that is asked for single charges by their places, as `RateLimiter` does, and the places that are kept. */
class ByPlaces {
  private readonly places = new Map<string, EntryHandle>();

  constructor(readonly store: MemoryStore) {}

  consume(charges: readonly Charge[]): Verdict {
    const [charge, ...others] = charges as readonly [Charge, ...Charge[]];
    if (others.length > 0) return this.store.consume(charges);
    const { key, algorithm, cost } = charge;
    let place = this.places.get(key);
    if (place === undefined) this.places.set(key, (place = { entry: undefined }));
    const verdict = this.store.consumePlain(place, charge, algorithm, cost, charge.headroom ?? 0);
    const { allowed, at } = verdict;
    const [one] = verdict.charges;
    const { remaining, resetAfter, retryAfter, delay } = one!;
    return { allowed, at, charges: [{ allowed, remaining, resetAfter, retryAfter, delay }] };
  }
}

/** Both stores have the same verdicts, keys, estimated bytes and overflows after every request. */
function expectEqualStores(history: History, maxKeys: number, between: readonly string[]): void {
  const clock = new MovingClock(history.start, FALLBACK);
  const options = { clock: clock.read, maxSkew: history.maxSkewMs, maxKeys };
  const general = new MemoryStore(options);
  const plain = new ByPlaces(new MemoryStore(options));
  const pool = chargesOf(history, 'key');
  const first = algorithmOf(history.policies[0]![0]);
  let verdicts: Verdict[] = [];
  const ask = (charges: readonly Charge[]): Verdict => {
    const verdict = general.consume(charges);
    expectSame(plain.consume(charges), verdict);
    expectSame(sizesOf(plain.store), sizesOf(general));
    return verdict;
  };
  for (const [i, turn] of history.turns.entries()) {
    clock.move(turn.move, first, verdicts);
    const requests = requestsOf(turn, pool);
    verdicts = requests.map(ask);
    const last = requests.at(-1)!;
    const act = between[i % between.length];
    if (act === 'repeat') ask(last);
    for (const store of [general, plain.store]) {
      if (act === 'refund') store.refund(receiptsFor(last, verdicts.at(-1)!));
      else if (act === 'reset') store.reset(last.map(({ key }) => key));
      else if (act === 'clear') store.clear();
    }
  }
  for (const charges of pool) ask(charges);
}

function receiptsFor(charges: readonly Charge[], verdict: Verdict): ChargeReceipt[] {
  return verdict.allowed ? receiptsOf(charges, verdict) : [];
}

function sizesOf({ size, bytes, overflowed }: MemoryStore): object {
  return { size, bytes, overflowed };
}

describe('one truth: MemoryStore decides a charge whose place is kept as one whose key it looks up, field by field', () => {
  it.each(ALL_ALGORITHMS)(
    '%s',
    (name) => {
      const law = fc.property(
        historiesOf(name),
        fc.constantFrom(1_000_000, 3, 1),
        fc.array(betweens, { minLength: 1, maxLength: 5 }),
        expectEqualStores,
      );
      fc.assert(law, histories());
    },
    HISTORY_TIMEOUT_MS,
  );
});
