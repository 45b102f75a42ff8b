import { describe, it } from '@jest/globals';
import * as fc from 'fast-check';
import { assert, asyncProperty, property } from 'fast-check';
import type { AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { DenialCache } from '../../libs/floodgate/src/layers/denials/denial-cache.js';
import { blockOf } from '../../libs/floodgate/src/policy/block-for.js';
import { peekOf, takes } from '../../libs/floodgate/src/stores/charge.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import type { Charge, ChargeVerdict, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { forwards, MovingClock } from '../support/arbitrary-instants.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { giveToThree } from './give-to-three.js';
import { TextbookBlocks } from './textbook-blocks.js';
import { chargesOf, historiesOf, type History, requestsOf } from './histories.js';

/** Each history asks Redis many times. */
const SHARE = 0.3;

const redis = useRedis();

/** What makes a policy of a history stand apart: by its place. */
interface Apart {
  readonly shadow: boolean;
  /** Whether its charges are alternatives to those before them. */
  readonly alternative: boolean;
  /** Whether its charges are settled later: policies with `countIf` or `settle`. */
  readonly reserve: boolean;
  readonly block: { readonly after: number; readonly durations: readonly number[] } | undefined;
}

interface ApartHistory {
  readonly history: History;
  readonly apart: readonly Apart[];
}

const SECOND = 1_000_000;

const DURATIONS = [1_000, SECOND, 60 * SECOND, 600 * SECOND, 86_400 * SECOND];
const blocks = fc.record({
  after: fc.constantFrom(1, 1, 2, 3, 7),
  durations: fc.oneof(
    fc.constantFrom(...DURATIONS).map((duration) => [duration]),
    fc.subarray(DURATIONS, { minLength: 2 }),
  ),
});

function apartHistories(name: AlgorithmName): fc.Arbitrary<ApartHistory> {
  const apart = fc.record({
    shadow: fc.boolean(),
    alternative: fc.boolean(),
    reserve: fc.boolean(),
    block: fc.oneof(blocks, fc.constant(undefined)),
  });
  return fc.record({
    history: historiesOf(name),
    apart: fc.array(apart, { minLength: 3, maxLength: 3 }),
  });
}

/** Histories on a clock that does not step back, for oracles that know no such clock. */
function forwardHistories(name: AlgorithmName): fc.Arbitrary<ApartHistory> {
  return apartHistories(name).chain((given) =>
    fc
      .array(forwards, { minLength: given.history.turns.length, maxLength: given.history.turns.length })
      .map((moves) => ({
        ...given,
        history: { ...given.history, turns: given.history.turns.map((turn, i) => ({ ...turn, move: moves[i]! })) },
      })),
  );
}

const fail = (problem: string): never => {
  throw new Error(problem);
};

/** The history's pool, with shadows, alternatives and blocks. */
function poolOf({ history, apart }: ApartHistory, prefix: string): Charge[][] {
  const counting = apart.map((one) => one.block && blockOf({}, one.block.durations, one.block.after, fail));
  return chargesOf(history, prefix).map((charges) => {
    const made = charges.map((charge): Charge => {
      const place = Number(charge.key.split(':')[1]);
      const { shadow, reserve } = apart[place]!;
      // Leases are released, and not settled.
      const mode = reserve && charge.algorithm.lease === undefined ? 'reserve' : 'take';
      const algorithm = counting[place];
      const cost = takes(charge) ? 1 : 0;
      const counted = algorithm && { key: `${charge.key}!`, algorithm, cost, shadow };
      return { ...charge, mode, shadow, block: counted };
    });
    // A shadow has no alternatives. Of alternatives the last one alone has a block.
    const isAlternative = made.map(
      ({ key, shadow }, i) =>
        i > 0 && apart[Number(key.split(':')[1])]!.alternative && shadow !== true && made[i - 1]!.shadow !== true,
    );
    return made.map((charge, i) => ({
      ...charge,
      alternative: isAlternative[i]!,
      block: isAlternative[i + 1] === true ? undefined : charge.block,
    }));
  });
}

/** The verdicts with receipts that do not name the pool's keys. */
function withoutKeys(verdicts: readonly Verdict[]): unknown[] {
  return verdicts.map((verdict) => ({
    ...verdict,
    charges: verdict.charges.map(({ receipt, ...charge }) => ({
      ...charge,
      receipt: receipt && { ...receipt, key: undefined },
    })),
  }));
}

const plain = ({ key, algorithm, cost, headroom = 0 }: Charge, mode: 'take' | 'peek' = 'take'): Charge => ({
  headroom,
  key,
  algorithm,
  cost,
  mode,
});

/** The charges of a request in groups: one charge and its alternatives. */
function groupsOf(charges: readonly Charge[]): Charge[][] {
  const groups: Charge[][] = [];
  for (const charge of charges) {
    if (charge.alternative === true) groups.at(-1)!.push(charge);
    else groups.push([charge]);
  }
  return groups;
}

/**
 * Decides with plain charges only: the first one of each group that the request fits, all of these together, and each shadow in a store
 * of its own.
 */
class Oracle {
  private readonly blocks = new TextbookBlocks();
  private readonly enforcing: MemoryStore;
  private readonly twin: MemoryStore;

  constructor(private readonly clock: () => number) {
    this.enforcing = new MemoryStore({ clock });
    this.twin = new MemoryStore({ clock });
  }

  decide(charges: readonly Charge[]): Verdict {
    const at = this.clock();
    const groups = groupsOf(charges.filter(({ shadow }) => shadow !== true));
    const peek = (charge: Charge): ChargeVerdict => this.enforcing.consume([plain(charge, 'peek')]).charges[0]!;
    const isOpen = (charge: Charge): boolean => this.blocks.left(charge, at) === 0;
    const taking = groups.map((group) => group.find((charge) => isOpen(charge) && peek(charge).allowed));
    const allowed = taking.every((charge) => charge !== undefined);
    const said = new Map<Charge, ChargeVerdict>();
    for (const [i, group] of groups.entries()) {
      const index = taking[i] === undefined ? group.length : group.indexOf(taking[i]);
      for (const [j, charge] of group.entries()) {
        const unneeded = { allowed: false, retryAfter: 0, delay: 0 };
        said.set(charge, { ...peek(charge), ...(j > index && unneeded) });
      }
    }
    if (allowed && taking.length > 0) {
      const asked = taking.map((charge) => plain(charge));
      for (const [i, verdict] of this.enforcing.consume(asked).charges.entries()) said.set(taking[i]!, verdict);
    }
    const isRejected = (charge: Charge): boolean =>
      charge.shadow === true || taking[groups.findIndex((group) => group.includes(charge))] === undefined;
    const verdicts = charges.map((charge): ChargeVerdict => {
      const own = said.get(charge) ?? this.shadow(charge, allowed, at);
      return isRejected(charge) ? this.withBlock(charge, own, at) : own;
    });
    return { allowed, at, charges: verdicts };
  }

  /** Charged if the request is admitted, as an enforcing policy that stands alone would be. */
  private shadow(charge: Charge, admitted: boolean, at: number): ChargeVerdict {
    const take = admitted && this.blocks.left(charge, at) === 0;
    return this.twin.consume([plain(charge, take ? 'take' : 'peek')]).charges[0]!;
  }

  private withBlock(charge: Charge, own: ChargeVerdict, at: number): ChargeVerdict {
    if (charge.block === undefined) return own;
    if (this.blocks.left(charge, at) === 0 && !own.allowed && takes(charge)) this.blocks.rejected(charge, at);
    const left = this.blocks.left(charge, at);
    if (left === 0) return own;
    const { resetAfter, retryAfter } = own;
    const [reset, retry] = [Math.max(left, resetAfter), Math.max(left, retryAfter)];
    const blocked = { allowed: false, remaining: 0, resetAfter: reset, retryAfter: retry, delay: 0, blockedFor: left };
    // A single duration has no steps.
    return charge.block.algorithm.durations.length === 1
      ? blocked
      : { ...blocked, blockStep: this.blocks.step(charge, at) };
  }
}

function withoutReceipt(charge: ChargeVerdict): ChargeVerdict {
  const { receipt, shortfall, ...rest } = charge;
  void [receipt, shortfall];
  return rest;
}

function compareWithOracle(given: ApartHistory): void {
  const { history } = given;
  const clock = new MovingClock(history.start, 0);
  const store = new MemoryStore({ clock: clock.read });
  const oracle = new Oracle(clock.read);
  // One version of each policy: another one rebases a deeper debt where it is asked.
  const one = { ...history, policies: history.policies.map(([policy]): [typeof policy] => [policy]) };
  const pool = poolOf({ ...given, history: one }, 'key');
  const first = algorithmOf(history.policies[0]![0]);
  let verdicts: Verdict[] = [];
  for (const turn of history.turns) {
    clock.move(turn.move, first, verdicts);
    verdicts = requestsOf(turn, pool).map((charges) => {
      const verdict = store.consume(charges);
      const hasAllowed = (group: readonly Charge[]): boolean =>
        group.some((charge) => verdict.charges[charges.indexOf(charge)]!.allowed);
      expectSame({ ...verdict, charges: verdict.charges.map(withoutReceipt) }, oracle.decide(charges));
      expectHolds(
        verdict.allowed === groupsOf(charges).every((group) => group[0]!.shadow === true || hasAllowed(group)),
        () => verdict,
      );
      return verdict;
    });
  }
}

/** Two stores at the same requests, one of them behind a denial cache. */
function compareWithCached(given: ApartHistory): void {
  const { history } = given;
  const clock = new MovingClock(history.start, 0);
  const [asked, behind] = [new MemoryStore({ clock: clock.read }), new MemoryStore({ clock: clock.read })];
  const denials = new DenialCache(1000, () => clock.now / 1000);
  const pool = poolOf(given, 'key');
  const first = algorithmOf(history.policies[0]![0]);
  let verdicts: Verdict[] = [];
  for (const turn of history.turns) {
    clock.move(turn.move, first, verdicts);
    verdicts = requestsOf(turn, pool).map((charges) => {
      const verdict = asked.consume(charges);
      const known = denials.findSent(charges)?.verdict;
      if (known === undefined) {
        const same = behind.consume(charges);
        denials.note(charges, same, clock.now / 1000);
        expectSame(same, verdict);
        return verdict;
      }
      // It hides no admitted request, and says of no shadow that it would reject what it would not, or is blocked where it is not.
      expectSame([known.allowed, verdict.allowed], [false, false]);
      for (const [i, charge] of known.charges.entries()) {
        expectHolds(charge.allowed || !verdict.charges[i]!.allowed, () => ({ known, verdict }));
        // The denial's clock has milliseconds with a fraction: the last microsecond may be lost.
        const [left, really] = [charge.blockedFor, verdict.charges[i]!.blockedFor];
        expectHolds(left === undefined || Math.abs(left - (really ?? 0)) <= 1, () => ({ known, verdict }));
      }
      return verdict;
    });
    // What it hides changes no state: a shadow's count and that of rejections go on.
    const peeks = pool.map((charges) => charges.map(peekOf));
    expectSame(
      peeks.map((charges) => behind.consume(charges)),
      peeks.map((charges) => asked.consume(charges)),
    );
  }
}

describe('shadows, blocks and alternatives', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: memory, Redis by requests and Redis by turns give the same decisions, field by field',
    async (name) => {
      await assert(
        asyncProperty(apartHistories(name), (given) =>
          giveToThree(redis.client, given.history, (prefix) => poolOf(given, prefix), withoutKeys),
        ),
        histories(SHARE),
      );
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(ALL_ALGORITHMS)(
    '%s: decide and count the same behind a denial cache',
    (name) => {
      assert(property(forwardHistories(name), compareWithCached), histories(SHARE));
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(ALL_ALGORITHMS)(
    '%s: decide as plain policies, the first alternative that fits, an enforcing twin of each shadow, and counted rejections do',
    (name) => {
      assert(property(forwardHistories(name), compareWithOracle), histories(SHARE));
    },
    HISTORY_TIMEOUT_MS,
  );
});
