import type { Monitor } from '../../metrics/monitor.js';
import type { ChargeVerdict } from '../../stores/store.js';
import { allOf, type Answer, andThen, attempt } from '../../util/answer.js';
import { isPromise } from '../../util/is-promise.js';
import type { Decider } from '../decider.js';
import type { Execution } from '../execution.js';
import { later, type LayerVerdict } from '../layer-verdict.js';
import type { PolicyCharge } from '../policy-charge.js';

/** The charge of a next policy could not be made, such as without its identity. No other decider can help. */
export class UnmadeCharge extends Error {
  readonly #reason: unknown;

  constructor(reason: unknown) {
    super('The charge of a policy behind an else could not be made');
    this.#reason = reason;
  }

  /** What the application's function, or the lookup of the identity, has thrown. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Whether anything that was thrown is one. `instanceof` throws for a proxy that was revoked. */
  static is(thrown: unknown): thrown is UnmadeCharge {
    return typeof thrown === 'object' && thrown !== null && #reason in thrown;
  }
}

/** What a policy said that a request does not fit. */
interface Rejection {
  readonly charge: PolicyCharge;
  readonly verdict: ChargeVerdict;
  /** Microseconds of the store's clock. */
  readonly at: number;
}

/**
 * Asks the policies that `else` names. A request that does not fit a policy is asked again, with the charge of the next policy of
 * the row in its place. Each question is a whole request, so it charges all or nothing. A request that fits its first policies
 * costs nothing more.
 */
export class ElseLayer implements Decider {
  constructor(
    private readonly inner: Decider,
    private readonly monitor: Pick<Monitor, 'ranOver'>,
  ) {}

  decide(charges: readonly PolicyCharge[], execution?: Execution): Answer<LayerVerdict> {
    return andThen(this.inner.decide(charges, execution), (verdict) => this.after(charges, verdict, execution));
  }

  /**
   * Continues after the first question. Returns its verdict where nothing runs over.
   *
   * @throws {UnmadeCharge} when a charge cannot be made, and what the inner decider throws
   */
  after(charges: readonly PolicyCharge[], verdict: LayerVerdict, execution?: Execution): Answer<LayerVerdict> {
    return this.next(charges, charges, verdict, undefined, execution);
  }

  /**
   * @param asked the charges of the last question
   * @param verdict its verdict
   * @param before the soonest rejection at each place where a row has gone on
   */
  private next(
    charges: readonly PolicyCharge[],
    asked: readonly PolicyCharge[],
    verdict: LayerVerdict,
    before: ReadonlyMap<number, Rejection> | undefined,
    execution: Execution | undefined,
  ): Answer<LayerVerdict> {
    const full = fullOnes(asked, verdict);
    if (full.length === 0) return before === undefined ? verdict : this.told(charges, asked, verdict, before);
    const soonest = withSoonest(before, full, asked, verdict);
    return attempt(
      () => chargesInstead(full, asked),
      (links) => {
        const next = asked.map((charge, i) => (hasCounted(charge, verdict.charges[i]!) ? uncounting(charge) : charge));
        for (const [n, i] of full.entries()) next[i] = links[n]!;
        return andThen(this.inner.decide(next, execution), (answer) =>
          this.next(charges, next, answer, soonest, execution),
        );
      },
      (error) => {
        throw new UnmadeCharge(error);
      },
    );
  }

  private told(
    charges: readonly PolicyCharge[],
    asked: readonly PolicyCharge[],
    verdict: LayerVerdict,
    before: ReadonlyMap<number, Rejection>,
  ): LayerVerdict {
    const own = [...(verdict.asked ?? asked)];
    if (verdict.allowed) {
      if (charges[0]!.mode !== 'peek') {
        for (const i of before.keys()) this.monitor.ranOver(charges[i]!.policy.name, own[i]!.policy.name);
      }
      return toldAs(verdict, verdict.charges, own);
    }
    // The request passes as soon as one policy of each row takes it. Of equal ones the first is told: the client knows it best.
    const verdicts = [...verdict.charges];
    for (const [i, { charge, verdict: known, at }] of before) {
      const counted = later(known, Math.max(0, verdict.at - at));
      if (verdicts[i]!.allowed || counted.retryAfter > verdicts[i]!.retryAfter) continue;
      verdicts[i] = counted;
      own[i] = charge;
    }
    return toldAs(verdict, verdicts, own);
  }
}

/** The charges of the next policies. If one cannot be made at once, no rejection of another one stays unhandled. */
function chargesInstead(full: readonly number[], asked: readonly PolicyCharge[]): Answer<readonly PolicyCharge[]> {
  const made: Answer<PolicyCharge>[] = [];
  try {
    for (const i of full) made.push(asked[i]!.instead!(asked[i]!));
  } catch (error) {
    for (const one of made) if (isPromise(one)) one.then(undefined, () => undefined);
    throw error;
  }
  return allOf(made);
}

/** Whether another policy may take the request of one of the charges. */
export function hasElse(charges: readonly PolicyCharge[]): boolean {
  for (let i = 0; i < charges.length; i++) if (charges[i]!.instead !== undefined) return true;
  return false;
}

/** The verdict with other charges. A store's verdict may have getters, which a spread leaves out. */
function toldAs(
  { allowed, at, source, overridden, unavailable }: LayerVerdict,
  charges: readonly ChargeVerdict[],
  asked: readonly PolicyCharge[],
): LayerVerdict {
  return { allowed, at, charges, source, asked, overridden, unavailable };
}

/** The places of the charges that the request does not fit, and that another policy can take. A block is no lack of room. */
function fullOnes(asked: readonly PolicyCharge[], { allowed, charges, source }: LayerVerdict): readonly number[] {
  if (allowed || source === 'override' || source === 'closed') return [];
  const full: number[] = [];
  for (let i = 0; i < asked.length; i++) {
    const one = charges[i]!;
    if (!one.allowed && one.blockedFor === undefined && asked[i]!.instead !== undefined) full.push(i);
  }
  return full;
}

/** Whether a rejection of the charge was counted for its `blockFor`, and began no block. */
function hasCounted({ block }: PolicyCharge, { allowed, blockedFor }: ChargeVerdict): boolean {
  return block !== undefined && !allowed && blockedFor === undefined;
}

/** The charge without its block: the next question is of the same request, whose rejection counts once. */
function uncounting(charge: PolicyCharge): PolicyCharge {
  return { ...charge, block: undefined };
}

function withSoonest(
  before: ReadonlyMap<number, Rejection> | undefined,
  full: readonly number[],
  asked: readonly PolicyCharge[],
  verdict: LayerVerdict,
): ReadonlyMap<number, Rejection> {
  const soonest = new Map(before);
  for (const i of full) {
    const own: Rejection = { charge: (verdict.asked ?? asked)[i]!, verdict: verdict.charges[i]!, at: verdict.at };
    const known = soonest.get(i);
    const isSooner = known === undefined || known.at + known.verdict.retryAfter > own.at + own.verdict.retryAfter;
    if (isSooner) soonest.set(i, own);
  }
  return soonest;
}
