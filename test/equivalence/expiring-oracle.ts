import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import type { Settlement } from '../../libs/rate-limit/src/engine/settling/reservation.js';
import type { BoundPolicy } from '../../libs/rate-limit/src/policy/bound-policy.js';
import type { Expiry } from '../../libs/rate-limit/src/policy/expiry.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import type {
  Charge,
  ChargeReceipt,
  ChargeSettlement,
  SettledCharge,
  Verdict,
} from '../../libs/rate-limit/src/stores/store.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { Counterfactual, type ModelCharge } from './counterfactual.js';

/** A key with its policy. */
export interface Place {
  readonly key: string;
  readonly policy: BoundPolicy;
  readonly model: Counterfactual;
}

/** What a reservation holds of one policy. */
interface Part {
  readonly place: Place;
  readonly receipt: ChargeReceipt;
  readonly model: ModelCharge;
  /** Its final cost at the expiry. */
  readonly rest: number;
}

/** A reservation, as a line of a list. */
export interface Held {
  readonly parts: readonly Part[];
  /** Microseconds; undefined: it never expires. */
  readonly dueAt: number | undefined;
  /** The process whose timer waits for it. */
  timedBy: object | undefined;
  /** Whether any process may settle it: it is open, and a refund at its expiry can give something back. */
  isLogged: boolean;
  hasExpired: boolean;
}

/** A settlement that the store must get, and what it means. */
interface Expected {
  readonly text: string;
  readonly apply: () => readonly SettledCharge[];
}

/**
 * The oracle: a list of reservations, each with the instant of its expiry and its final cost then. A textbook of each key holds all
 * charges at what they have come to, and a store in memory is settled by hand, at the instants and for the costs that the list says. It
 * knows neither timers nor logs.
 */
export class ExpiringOracle {
  readonly held = new Set<Held>();
  private readonly byHand: MemoryStore;
  private expected: Expected[] = [];

  constructor(
    private readonly clock: { readonly now: number; readonly read: () => number },
    maxSkew: number,
  ) {
    this.byHand = new MemoryStore({ clock: clock.read, maxSkew });
  }

  /** Decides a request, and compares. Returns its line if it has reserved. */
  asked(
    places: readonly Place[],
    charges: readonly Charge[],
    verdict: Verdict,
    expiry: Expiry | undefined,
  ): Held | undefined {
    const { now } = this.clock;
    const wanted = this.byHand.consume(charges);
    expectSame(verdict, wanted);
    const fits = places.every(({ model }, i) => model.fits(now, charges[i]!.cost || 1));
    const isExact = !places.some(({ policy }) => isBucket(policy.algorithm));
    expectHolds(isExact ? verdict.allowed === fits : fits || !verdict.allowed, () => ({ charges, verdict, fits }));
    if (!verdict.allowed) return undefined;
    const parts = places.map((place, i): Part => {
      const { cost } = charges[i]!;
      const receipt = wanted.charges[i]!.receipt!;
      return { place, receipt, model: place.model.charge(now, cost), rest: Math.min(expiry?.finalCost ?? cost, cost) };
    });
    if (charges[0]!.mode !== 'reserve') return undefined;
    const dueAt = expiry && now + expiry.after;
    const isLogged = parts.some((part) => isRefundable(part, dueAt));
    const held: Held = { parts, dueAt, timedBy: undefined, isLogged, hasExpired: false };
    this.held.add(held);
    return held;
  }

  /** The reservation expires in its own process: all its policies come to their final costs. */
  expire(held: Held): void {
    if (held.hasExpired) return;
    this.end(held);
    this.expect(held.parts.map((part) => [part, part.rest]));
  }

  /** Another process settles what is due by its clock, of all processes. */
  sweep(skew: number): void {
    const { now } = this.clock;
    for (const held of this.held) {
      if (!held.isLogged || held.dueAt! > now - skew) continue;
      this.end(held);
      // Nothing can be refunded of the others.
      const [refundable, others] = [true, false].map((is) =>
        held.parts.filter((part) => isRefundable(part, held.dueAt) === is),
      );
      this.expect(refundable!.map((part) => [part, part.rest]));
      for (const part of others!) {
        const [refunded] = this.byHand.settle([settlementOf(part, part.rest)]);
        expectSame(refunded, { refunded: 0, charged: 0 });
      }
    }
  }

  /** The caller settles. Returns what the answer must be, once everything has been settled. */
  settle(held: Held, finalCost: number): () => Settlement {
    const { dueAt, parts } = held;
    held.timedBy = undefined;
    this.held.delete(held);
    if (dueAt !== undefined && this.clock.now >= dueAt) this.expire(held);
    held.isLogged = false;
    const isLate = held.hasExpired;
    const done = this.expect(
      parts.map((part) =>
        isLate
          ? [{ ...part, receipt: { ...part.receipt, cost: part.rest } }, Math.max(part.rest, finalCost)]
          : [part, finalCost],
      ),
    );
    return () => ({
      settledBy: 'store',
      policies: parts.map(({ place, receipt, rest }, i) => {
        const { refunded, charged } = done()[i]!;
        const more = Math.max(0, finalCost - (isLate ? rest : receipt.cost));
        expectHolds(!isLate || refunded === 0, () => ({ held, refunded }));
        return {
          policy: place.policy.name,
          settledBy: 'store',
          refunded,
          charged,
          beyondOverdraft: more - charged,
        };
      }),
      ...(isLate && { expired: true as const }),
    });
  }

  /** A settlement that the store got: it is one of those that it must get, and is made by hand now. */
  settled(settlements: readonly ChargeSettlement[], answer: readonly (SettledCharge | undefined)[]): void {
    const text = textOf(settlements);
    const place = this.expected.findIndex((one) => one.text === text);
    expectHolds(place >= 0, () => ({ settlements, expected: this.expected.map((one) => one.text) }));
    const [expected] = this.expected.splice(place, 1);
    expectSame(answer, expected!.apply());
  }

  /** Nothing is left that the store must get. */
  expectAllSettled(): void {
    expectSame(
      this.expected.map(({ text }) => text),
      [],
    );
  }

  /** What a look at a key must show. */
  expectSeen(place: Place, verdict: Verdict): void {
    expectSame(verdict, this.byHand.consume([peekAt(place)]));
    const isExact = !isBucket(place.policy.algorithm);
    const { remaining, resetAfter } = verdict.charges[0]!;
    const wanted = place.model.seen(this.clock.now);
    const holds = isExact
      ? remaining === wanted.remaining
      : remaining <= wanted.remaining && resetAfter >= wanted.resetAfter;
    expectHolds(holds, () => ({ key: place.key, verdict, wanted }));
  }

  private end(held: Held): void {
    held.hasExpired = true;
    held.isLogged = false;
  }

  /** @returns what each part comes to, once the store has settled it */
  private expect(costs: readonly (readonly [Part, number])[]): () => readonly SettledCharge[] {
    let done: readonly SettledCharge[] = costs.map(() => ({ refunded: 0, charged: 0 }));
    if (costs.every(([{ receipt }, cost]) => receipt.cost === cost)) return () => done;
    const settlements = costs.map(([part, cost]) => settlementOf(part, cost));
    const apply = (): readonly SettledCharge[] => {
      done = this.byHand.settle(settlements);
      for (const [i, [{ place, model }, cost]] of costs.entries()) {
        model.cost = Math.min(model.cost, cost);
        place.model.charge(this.clock.now, done[i]!.charged);
      }
      return done;
    };
    this.expected.push({ text: textOf(settlements), apply });
    return () => done;
  }
}

export function peekAt({ key, policy: { algorithm } }: Place): Charge {
  return { key, algorithm, cost: 0 };
}

function isBucket({ name }: Algorithm): boolean {
  return name.endsWith('bucket');
}

/** Whether an expiry can refund something: the window has not ended then, and the refill has not paid the charge off. */
function isRefundable({ receipt: { cost, resetAt }, rest }: Part, dueAt: number | undefined): boolean {
  return dueAt !== undefined && cost > rest && resetAt > dueAt;
}

function settlementOf({ place: { policy }, receipt }: Part, finalCost: number): ChargeSettlement {
  return { receipt, finalCost, overdraft: policy.overdraft };
}

/** Says which charges come to what. */
function textOf(settlements: readonly ChargeSettlement[]): string {
  return settlements
    .map(({ receipt: { key, at, resetAt, cost }, finalCost }) => `${key} ${at} ${resetAt} ${cost} -> ${finalCost}`)
    .join(', ');
}
