import { type IdentityNaming, namedIdentity } from '../../identity/identity-tag.js';
import type { TopRejected } from './top-rejected.js';
import { EMPTY, merged, SpaceSaving, type Summary } from './space-saving.js';
import { isWorker, unheld } from '../../util/runtime.js';

/** Milliseconds that one summary counts. The one before counts as well, so answers reach back once to twice as far. */
export const PERIOD_MS = 300_000;
/** Counters of each summary: an identity's count is off by at most 1/256 of the rejections of its period. */
const COUNTERS = 256;
/** Identities in an answer. */
export const TOP = 20;

/**
 * The identities that were rejected most often in the last 5 to 10 minutes, in bounded memory: two summaries that take turns. It
 * costs allowed requests nothing, and rejections no reading of the clock.
 */
export class RejectedIdentities {
  private current: SpaceSaving | undefined;
  private before: Summary = EMPTY;
  /** Ends the current period; undefined while nothing is counted. */
  private timer: NodeJS.Timeout | undefined;
  /** A Worker, which has no timer for them, counts from its beginning on. */
  private readonly hasPeriods = !isWorker();

  /** @param naming how answers name identities */
  constructor(private readonly naming: IdentityNaming = 'tag') {}

  /** Counts a rejection. */
  count(identity: string, policy: string): void {
    this.current ??= new SpaceSaving(COUNTERS);
    this.current.count(identity, policy);
    if (this.hasPeriods) this.timer ??= unheld(setInterval(() => this.turn(), PERIOD_MS));
  }

  /** @param most identities to list */
  top(most: number = TOP): TopRejected {
    const { identities, othersAtMost } = merged([this.current?.summary() ?? EMPTY, this.before], most);
    return {
      identities: identities.map((one) => ({ ...one, identity: namedIdentity(one.identity, this.naming) })),
      othersAtMost,
    };
  }

  /** Begins the next period, at once or with the next rejection. */
  private turn(): void {
    this.before = this.current?.summary() ?? EMPTY;
    this.current = undefined;
    if (this.before.identities.length > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
