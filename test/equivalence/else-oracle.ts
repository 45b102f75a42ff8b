import * as fc from 'fast-check';
import type { Policy } from 'nestjs-floodgate';
import type { Textbook } from '../../libs/textbook/textbook.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { forwards, type Move, starts } from '../support/arbitrary-instants.js';
import { type Cost, costs, policyOf } from '../support/arbitrary-policies.js';
import { textbookOf } from '../support/textbook-of.js';

const NAMES = ['fixed-window', 'token-bucket', 'sliding-window-log', 'sliding-window-counter'] as const;

/** One request: of the first row alone, or of all rows. */
interface Asked {
  readonly cost: Cost;
  readonly isOfAll: boolean;
}

/** Requests of one instant. */
interface Turn {
  readonly move: Move;
  readonly requests: readonly Asked[];
}

export interface History {
  readonly start: number;
  /** The policies of each row, the first one first. A row of one has no `else`. */
  readonly rows: readonly (readonly Policy[])[];
  readonly turns: readonly Turn[];
}

const policies = fc.constantFrom(...NAMES).chain(policyOf);
/** A leaky bucket may be the first policy of a row: its requests wait. At most one policy of a request may. */
const firstRow = fc.oneof(
  { weight: 4, arbitrary: fc.array(policies, { minLength: 2, maxLength: 2 }) },
  {
    weight: 1,
    arbitrary: fc.tuple(policyOf('leaky-bucket'), policies),
  },
);
const asked: fc.Arbitrary<Asked> = fc.record({ cost: costs, isOfAll: fc.boolean() });
export const historiesOfRows: fc.Arbitrary<History> = fc.record({
  start: starts,
  rows: fc
    .tuple(firstRow, fc.array(fc.array(policies, { minLength: 1, maxLength: 2 }), { maxLength: 2 }))
    .map(([first, rest]) => [first, ...rest]),
  turns: fc.array(fc.record({ move: forwards, requests: fc.array(asked, { minLength: 1, maxLength: 5 }) }), {
    minLength: 1,
    maxLength: 10,
  }),
});

/** The names of a row: `r0.0`, whose `else` is `r0.1`, and so on. */
export function namesOf(row: readonly Policy[], r: number): string[] {
  return row.map((_, i) => `r${r}.${i}`);
}

/** @param isSpread whether every second policy counts all clients together, so that each of them has a slot of its own */
export function named(rows: History['rows'], isSpread: boolean): Record<string, Policy> {
  const all: Record<string, Policy> = {};
  for (const [r, row] of rows.entries()) {
    const names = namesOf(row, r);
    for (const [i, policy] of row.entries()) {
      all[names[i]!] = {
        ...policy,
        ...(isSpread && (r + i) % 2 === 1 && { by: 'global' }),
        ...(i + 1 < row.length && { else: names[i + 1]! }),
      };
    }
  }
  return all;
}

/** What a row says to a request: the policy that takes it, or the one that has room first. */
interface Said {
  readonly policy: number;
  readonly allowed: boolean;
  readonly retryAfter: number;
}

/** A request as a store gets it. */
interface Request {
  readonly cost: number;
  /** The number of rows. */
  readonly rows: number;
}

/** What the rows say to a request. */
export interface Told {
  readonly said: readonly Said[];
  readonly delay: number;
}

/** The oracle: each row's first textbook that the request fits takes it, if every row has one. */
export class Oracle {
  private readonly books: readonly (readonly Textbook[])[];

  constructor(rows: History['rows']) {
    this.books = rows.map((row) => row.map((policy) => textbookOf(algorithmOf(policy))));
  }

  /** Requests that come one after the other. */
  askEach(at: number, requests: readonly Request[]): Told[] {
    return requests.map(({ cost, rows }) => this.ask(at, cost, this.books.slice(0, rows)));
  }

  /**
   * Requests that come at once. All of them ask about their first policies, in their order. Those that do not fit ask again, in their
   * order: about the whole of each row that had no room.
   */
  askTogether(at: number, requests: readonly Request[]): Told[] {
    const told: Told[] = [];
    let open = requests.map(({ cost, rows }, i) => ({ cost, i, lengths: this.books.slice(0, rows).map(() => 1) }));
    while (open.length > 0) {
      open = open.filter(({ cost, i, lengths }) => {
        const answer = (told[i] = this.ask(
          at,
          cost,
          lengths.map((length, r) => this.books[r]!.slice(0, length)),
        ));
        const goOn = answer.said.map(({ allowed }, r) => !allowed && lengths[r]! < this.books[r]!.length);
        for (const [r, goes] of goOn.entries()) if (goes) lengths[r] = this.books[r]!.length;
        return goOn.includes(true);
      });
    }
    return told;
  }

  private ask(at: number, cost: number, rows: readonly (readonly Textbook[])[]): Told {
    const said = rows.map((row) => saidOf(row, at, cost || 1));
    if (!said.every(({ allowed }) => allowed)) return { said, delay: 0 };
    const delays = rows.map((row, r) => row[said[r]!.policy]!.ask(at, cost).delay);
    return { said, delay: Math.max(...delays) };
  }
}

function saidOf(row: readonly Textbook[], at: number, cost: number): Said {
  const taking = row.findIndex((book) => book.fits(at, cost));
  if (taking >= 0) return { policy: taking, allowed: true, retryAfter: 0 };
  const waits = row.map((book) => book.retryAfter(at, cost));
  const retryAfter = Math.min(...waits);
  return { policy: waits.indexOf(retryAfter), allowed: false, retryAfter };
}

/** A queue whose slots are shorter than a microsecond: a rejection in another slot does not refund it. */
export function isFast({ rows }: History): boolean {
  const { name, wire } = algorithmOf(rows[0]![0]!);
  return name === 'leaky-bucket' && wire.numbers[0]! > wire.numbers[1]!;
}
