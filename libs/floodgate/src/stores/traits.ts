import type { Charge } from './charge.js';
import type { OverrideLog } from './override-log.js';
import type { ReportBoard } from './report-board.js';
import type { ReservationLog } from './reservation-log.js';
import type { RateLimitStore, Verdict } from './store.js';
import type { Answer } from '../util/answer.js';
import type { PlainStore } from './plain.js';
import type { ReturnedSlots } from './returned-slots.js';

/** What a store can do, and how it answers. The engine knows nothing else about a store. */
export interface StoreTraits {
  /** Whether it knows policies with `mode: 'shadow'`, and with `blockFor`. */
  readonly shadow: boolean;
  readonly block: boolean;
  /** Whether it leaves the `headroom` of charges free: policies with `priorities`. */
  readonly headroom: boolean;
  /** Whether processes can charge tokens ahead of demand. All of them have its clock then. */
  readonly prefetch: boolean;
  /** Why a store that could does not. */
  readonly whyNoPrefetch?: string | undefined;
  /** Whether it refunds charges, and settles reservations at a higher cost. */
  readonly refunds: boolean;
  readonly settles: boolean;
  /** Whether it answers without a promise; undefined: its first answer shows it. */
  readonly answersAtOnce: boolean | undefined;
  /** Whether it is in this process, so that it is never unavailable. */
  readonly isLocal: boolean;
  /** Whether it keeps the deadline by itself, and answers with verdicts that need no check. */
  readonly keepsDeadline: boolean;
  /** Decides without a deadline: the answer counts however late it comes. Undefined: as `consume`, which has no deadline then. */
  readonly decidePatiently?: ((charges: readonly Charge[]) => Answer<Verdict>) | undefined;
  /** Whether it notes its rejections in the denial cache by itself. */
  readonly notesDenials: boolean;
  /** Whether it decides a request with `alternative` charges in one step, if these are its charges. */
  readonly decidesAlternatives: (charges: readonly Charge[]) => boolean;
  /** The server behind it, for messages. */
  readonly server?: string | undefined;
  /** Decides single plain charges faster; undefined: nothing is gained. */
  readonly plain?: PlainStore | undefined;
  /**
   * Opens the log of overrides beside the store's states, under keys with these last parts. Undefined: the store has no place
   * for it.
   */
  readonly overrideLog?: ((keyOf: (part: string) => string) => OverrideLog) | undefined;
  /**
   * Opens the board of the processes' reports beside the store's states, under keys with these last parts. Undefined: processes
   * cannot see each other's.
   */
  readonly reportBoard?: ((keyOf: (part: string) => string) => ReportBoard) | undefined;
  /**
   * Opens the log of reservations that expire, under keys with these parts. Undefined: no other process can settle them.
   */
  readonly reservationLog?: ((keyOf: (part: string) => string) => ReservationLog) | undefined;
  /** The slots that it takes back by itself, of requests whose answer came too late. Undefined: it has no list of them. */
  readonly slots?: ReturnedSlots | undefined;
  /**
   * Resolves once all that it was asked has its answer, however late, and so has what that has led to. Undefined: its promises tell it.
   */
  readonly idle?: (() => Promise<void>) | undefined;
  /** Forgets all states. Undefined: others may use them, too. */
  readonly clear?: (() => void) | undefined;
  /** Decisions on a state that clients without room share. */
  readonly overflowed?: (() => number) | undefined;
}

/** The traits of a store: its own, and what the methods and `supports` of an application's store tell. */
export function traitsOf(store: RateLimitStore): StoreTraits {
  const { supports = [] } = store;
  return {
    shadow: supports.includes('shadow'),
    block: supports.includes('block'),
    headroom: supports.includes('headroom'),
    prefetch: supports.includes('prefetch'),
    refunds: store.refund !== undefined,
    settles: store.settle !== undefined,
    answersAtOnce: undefined,
    isLocal: false,
    keepsDeadline: false,
    notesDenials: false,
    decidesAlternatives: () => supports.includes('alternatives'),
    ...store.traits,
  };
}

/** What a policy or a charge needs of a store. */
interface NeededTraits {
  readonly shadow?: boolean;
  readonly block?: unknown;
  readonly headroom?: number;
  readonly priorities?: unknown;
}

/** The option of a policy that needs each trait. */
const OPTIONS = { shadow: `mode: 'shadow'`, block: 'blockFor', headroom: 'priorities' } as const;

/** Why a store cannot decide a policy, or its charge: it would ignore one of these options. Undefined when it can. */
export function lackOf(
  traits: Pick<StoreTraits, keyof typeof OPTIONS>,
  { shadow, block, headroom = 0, priorities }: NeededTraits,
): string | undefined {
  let missing: keyof typeof OPTIONS;
  if (shadow === true && !traits.shadow) missing = 'shadow';
  else if (block !== undefined && !traits.block) missing = 'block';
  else if ((headroom > 0 || priorities !== undefined) && !traits.headroom) missing = 'headroom';
  else return undefined;
  const option = OPTIONS[missing];
  return `the store does not know ${option}: use MemoryStore or RedisStore, or have your store's supports include '${missing}'`;
}
