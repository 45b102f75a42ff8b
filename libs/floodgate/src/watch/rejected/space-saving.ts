import { ownText } from '../../util/flat-text.js';

/** What a summary knows of one identity: it was counted `atLeast` to `atMost` times. */
export interface CountedIdentity {
  /** The identity's tag. */
  readonly identity: string;
  /** The policy of its last count. */
  readonly policy: string;
  readonly atLeast: number;
  readonly atMost: number;
}

/** What is known of the identities that were counted most often. */
export interface Summary {
  readonly identities: readonly CountedIdentity[];
  /** Every other identity was counted at most so often. */
  readonly othersAtMost: number;
}

/** A summary without counts. */
export const EMPTY: Summary = { identities: [], othersAtMost: 0 };

interface Counter {
  identity: string;
  policy: string;
  count: number;
  /** The count that it has taken over from the identity before: `count` exceeds the truth by at most as much. */
  inherited: number;
  /** The counter's index in the order of the counts. */
  at: number;
}

/**
 * Counts the most frequent identities of a stream in a fixed number of counters. An identity without a counter takes over the
 * smallest one. After `n` counts in `k` counters no count exceeds the truth by more than n / k, and every identity that was counted
 * more often than n / k times has a counter. A count takes O(log k).
 *
 * Source: Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005.
 */
export class SpaceSaving {
  private readonly byIdentity = new Map<string, Counter>();
  /** The largest count first. */
  private readonly counters: Counter[] = [];

  /** @param size the number of counters */
  constructor(private readonly size: number) {}

  count(identity: string, policy: string): void {
    let counter = this.byIdentity.get(identity);
    if (counter === undefined) {
      counter = this.counters.length < this.size ? this.added() : this.takenOver();
      // The tag may be cut from a header, which the counter must not keep in memory.
      counter.identity = ownText(identity);
      this.byIdentity.set(counter.identity, counter);
    }
    counter.policy = policy;
    this.moveBefore(counter);
    counter.count++;
  }

  /** All counters, the largest first. */
  summary(): Summary {
    const { counters, size } = this;
    return {
      identities: counters.map(({ identity, policy, count, inherited }) => ({
        identity,
        policy,
        atLeast: count - inherited,
        atMost: count,
      })),
      othersAtMost: counters.length < size ? 0 : counters.at(-1)!.count,
    };
  }

  private added(): Counter {
    const counter: Counter = { identity: '', policy: '', count: 0, inherited: 0, at: this.counters.length };
    this.counters.push(counter);
    return counter;
  }

  private takenOver(): Counter {
    const smallest = this.counters.at(-1)!;
    this.byIdentity.delete(smallest.identity);
    smallest.inherited = smallest.count;
    return smallest;
  }

  /** Moves a counter before all others of its count, so that the order holds when it is counted up. */
  private moveBefore(counter: Counter): void {
    const { counters } = this;
    let [from, to] = [0, counter.at];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (counters[middle]!.count > counter.count) from = middle + 1;
      else to = middle;
    }
    const other = counters[to]!;
    counters[counter.at] = other;
    other.at = counter.at;
    counters[to] = counter;
    counter.at = to;
  }
}

/**
 * Adds up summaries of several streams. The bounds of each identity add up, and so do those of the others. Source: Agarwal et al.,
 * "Mergeable Summaries", PODS 2012.
 *
 * @param most identities to keep: those with the largest `atLeast`
 */
export function merged(summaries: readonly Summary[], most: number): Summary {
  const unlisted = summaries.reduce((sum, { othersAtMost }) => sum + othersAtMost, 0);
  const sums = new Map<string, CountedIdentity & { readonly largest: number }>();
  for (const { identities, othersAtMost } of summaries) {
    for (const { identity, policy, atLeast, atMost } of identities) {
      const known = sums.get(identity) ?? { atLeast: 0, atMost: unlisted, largest: -1, policy };
      sums.set(identity, {
        identity,
        policy: atLeast > known.largest ? policy : known.policy,
        largest: Math.max(atLeast, known.largest),
        atLeast: known.atLeast + atLeast,
        atMost: known.atMost - othersAtMost + atMost,
      });
    }
  }
  const all = Array.from(sums.values(), ({ identity, policy, atLeast, atMost }) => ({
    identity,
    policy,
    atLeast,
    atMost,
  })).toSorted((one, other) => other.atLeast - one.atLeast || other.atMost - one.atMost);
  const left = all.slice(most);
  return {
    identities: all.slice(0, most),
    othersAtMost: left.reduce((largest, { atMost }) => Math.max(largest, atMost), unlisted),
  };
}
