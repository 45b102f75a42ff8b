import type { Monitor } from '../../watch/monitor.js';
import { type Deadlines, StoreDeadlineError } from '../../stores/deadlines.js';
import { withinLoopTime } from '../../stores/loop-timer.js';
import { type Answer, allOf, andThen } from '../../util/answer.js';
import { isPromise } from '../../util/is-promise.js';
import { asking, type Decider, type LimitedRequest } from '../../charges/decider.js';
import type { LayerVerdict } from '../../charges/layer-verdict.js';
import type { ActiveOverrides } from '../overrides/active-overrides.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { ElseRow } from './else-row.js';

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

/** What the layer asks, and what it needs to know. */
export interface ElseSettings {
  /** Decides the requests. */
  readonly inner: Decider;
  readonly monitor: Pick<Monitor, 'ranOver'>;
  readonly overrides: Pick<ActiveOverrides, 'exemptsOrBlocks'>;
  /** Whether `inner` decides a request with alternatives in one step. */
  readonly decidesAlternatives: (charges: readonly PolicyCharge[]) => boolean;
  /** How long the store may take for all questions of a request together. */
  readonly deadlines: Pick<Deadlines, 'ms'>;
  /** Gives back what an answer has charged that comes later. */
  readonly abandoned: (charges: readonly PolicyCharge[], verdict: LayerVerdict) => void;
}

/**
 * Asks the policies that `else` names. A request that does not fit its first policies has charged none of them. It is asked again, as
 * one request with alternatives: the store takes the first policy of each row that the request fits, all or nothing, in one step. A
 * request that fits its first policies costs nothing more.
 *
 * A store that does not decide alternatives in one step, or whose keys lie in several slots of a Cluster, is asked about one policy
 * of a row after the other.
 */
export class ElseLayer implements Decider {
  constructor(private readonly settings: ElseSettings) {}

  /** @throws {UnmadeCharge} when a charge cannot be made, and what the inner decider throws */
  decide(request: LimitedRequest): Answer<LayerVerdict> {
    const answer = this.settings.inner.decide(request);
    if (!hasElse(request.charges)) return answer;
    const askedAt = isPromise(answer) ? performance.now() : undefined;
    return andThen(answer, (verdict) => {
      if (verdict.allowed) return verdict;
      const rows = request.charges.map((charge) => new ElseRow(charge));
      return this.next(request, rows, verdict, askedAt) ?? verdict;
    });
  }

  /**
   * Returns undefined if the request runs over nowhere.
   *
   * @param askedAt when the store was first asked, in milliseconds of the monotonic clock; undefined if it has answered at once
   */
  private next(
    request: LimitedRequest,
    rows: readonly ElseRow[],
    verdict: LayerVerdict,
    askedAt: number | undefined,
  ): Answer<LayerVerdict> | undefined {
    let at = 0;
    for (const row of rows) at += row.hear(verdict, at);
    const { allowed, source, isPaused = false } = verdict;
    if (allowed || isPaused || source === 'override' || source === 'closed') return this.merged(rows, verdict);
    const full = rows.filter((row) => row.isFull);
    if (full.length === 0) return this.merged(rows, verdict);
    const { inner, overrides, decidesAlternatives } = this.settings;
    return andThen(allOf(full.map((row) => row.complete(overrides))), () => {
      const unmade = full.find((row) => row.failure !== undefined);
      if (unmade !== undefined) throw new UnmadeCharge(unmade.failure!.reason);
      const going = full.filter((row) => row.next !== undefined);
      if (going.length === 0) return this.merged(rows, verdict) ?? verdict;
      const together = decidesAlternatives(rows.flatMap((row) => (row.isFull ? [row.first, row.next!] : row.asked)));
      for (const row of going) row.goOn(together, overrides);
      const asked = rows.flatMap((row) => row.asked);
      const since = askedAt === undefined ? undefined : this.deadlineSince(askedAt);
      const answer = this.withinRest(since, asked, () => inner.decide(asking(request, asked)));
      return andThen(answer, (last) => this.next(request, rows, last, since) ?? last);
    });
  }

  /**
   * When the deadline of the next question began. The store has answered the questions before it in time. So if the deadline has
   * passed, a stall of the event loop has used it up, or the lookup of an identity, and the store gets a whole one.
   */
  private deadlineSince(askedAt: number): number {
    const now = performance.now();
    return now - askedAt < this.settings.deadlines.ms ? askedAt : now;
  }

  /** Asks within what is left of the deadline: the questions of a request share one. */
  private withinRest(
    since: number | undefined,
    asked: readonly PolicyCharge[],
    ask: () => Answer<LayerVerdict>,
  ): Answer<LayerVerdict> {
    if (since === undefined) return ask();
    const { abandoned, deadlines } = this.settings;
    const { ms } = deadlines;
    const leftMs = since + ms - performance.now();
    const answer = ask();
    if (!isPromise(answer)) return answer;
    return withinLoopTime(leftMs, answer, {
      late: (verdict) => abandoned(asked, verdict),
      missed: () => new StoreDeadlineError(`the store gave no answer within ${ms} ms`),
    });
  }

  /** The verdict on the request as it was made: one for each policy of it. Undefined if no row has gone on. */
  private merged(rows: readonly ElseRow[], verdict: LayerVerdict): LayerVerdict | undefined {
    if (!rows.some((row) => row.hasGoneOn)) return undefined;
    if (verdict.allowed) {
      for (const { first, charge } of rows) {
        if (first.mode !== 'peek' && charge.policy.name !== first.policy.name) {
          this.settings.monitor.ranOver(first.policy.name, charge.policy.name);
        }
      }
    }
    // A store's verdict may have getters, which a spread leaves out.
    const { allowed, at, source, overridden, unavailable } = verdict;
    const charges = rows.map((row) => row.verdict);
    return { allowed, at, charges, source, asked: rows.map(({ charge }) => charge), overridden, unavailable };
  }
}

/** Whether another policy may take the request of one of the charges. */
function hasElse(charges: readonly PolicyCharge[]): boolean {
  for (let i = 0; i < charges.length; i++) if (charges[i]!.instead !== undefined) return true;
  return false;
}
