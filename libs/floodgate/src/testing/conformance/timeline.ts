import type { Algorithm } from '../../algorithms/core/algorithm.js';
import type { AnyBlockAlgorithm } from '../../algorithms/block/block.js';
import { type ChargeReceipt, receiptsOf } from '../../stores/receipt.js';
import type { Charge, ChargeVerdict, Clock, RateLimitStore, Verdict } from '../../stores/store.js';
import { traitsOf } from '../../stores/traits.js';
import { ORIGIN } from './instants.js';
import { expectFields } from './same.js';

/** What a store under test is opened with. */
export interface StoreSettings {
  /** The store has to decide by it, and by no other clock. */
  readonly clock: Clock;
  /**
   * Milliseconds that a stored instant may lie ahead of the clock before it is rebased: the store hands it to its algorithms.
   * Options of `MemoryStore` and `RedisStore` have the same name.
   */
  readonly maxSkew: number;
}

/** Opens a new, empty store. */
export type OpenStore = (settings: StoreSettings) => RateLimitStore | Promise<RateLimitStore>;

/** A charge of a case: an algorithm, a cost, a key (default `'key'`), and a headroom (default 0). */
export type Asked = readonly [algorithm: Algorithm, cost: number, key?: string, headroom?: number];

/** The module's default prefix: the server under test may allow only these keys. */
const KEY_PREFIX = 'rl:';

/** A store whose clock the case sets. */
export class Timeline {
  private constructor(
    private readonly time: { now: number },
    private readonly store: RateLimitStore,
  ) {}

  static async open(open: OpenStore, maxSkewMs = 0): Promise<Timeline> {
    const time = { now: ORIGIN };
    return new Timeline(time, await open({ clock: () => time.now, maxSkew: maxSkewMs }));
  }

  /** Decides one request at an instant counted from `ORIGIN`. */
  async ask(at: number, ...charges: readonly Asked[]): Promise<Verdict> {
    this.time.now = ORIGIN + at;
    return this.store.consume(charges.map(chargeOf));
  }

  /**
   * Decides one request of which one charge of the row has to fit: the first one that does is made.
   *
   * @param beside what has to fit as well
   */
  async askOneOf(at: number, row: readonly Asked[], ...beside: readonly Asked[]): Promise<Verdict> {
    this.time.now = ORIGIN + at;
    return this.store.consume([...rowOf(row), ...beside.map(chargeOf)]);
  }

  /** Whether the store decides alternatives in one step: the library asks it about one after the other elsewhere. */
  decidesAlternatives(row: readonly Asked[]): boolean {
    return traitsOf(this.store).decidesAlternatives(rowOf(row));
  }

  /** One charge's verdict. */
  async charge(at: number, algorithm: Algorithm, cost: number, key?: string): Promise<ChargeVerdict> {
    const { charges } = await this.ask(at, [algorithm, cost, key]);
    return charges[0]!;
  }

  async reset(...keys: string[]): Promise<void> {
    await this.store.reset(keys.map((key) => KEY_PREFIX + key));
  }

  /** Whether the store leaves the headroom of charges free: it may not know it. */
  get leavesHeadroom(): boolean {
    return traitsOf(this.store).headroom;
  }

  /** Whether the store refunds: it may leave the method out. */
  get refunds(): boolean {
    return this.store.refund !== undefined;
  }

  /** Charges what has to fit, and returns the receipts. */
  async take(at: number, ...asked: readonly Asked[]): Promise<readonly ChargeReceipt[]> {
    const verdict = await this.ask(at, ...asked);
    const charges = asked.map(() => ({ allowed: true }));
    expectFields(`the charge at ${at} microseconds`, verdict, { allowed: true, charges });
    return receiptsOf(asked.map(chargeOf), verdict);
  }

  /** Whether the store knows blocks. */
  get blocks(): boolean {
    return this.store.supports?.includes('block') === true;
  }

  /**
   * The verdict on a charge whose rejections lead to a block.
   *
   * @param counts 1, or 0: a block rejects the charge, which counts nothing towards one
   */
  async offend(
    at: number,
    [algorithm, cost, key = 'key']: Asked,
    block: AnyBlockAlgorithm,
    counts: 0 | 1 = 1,
  ): Promise<ChargeVerdict> {
    this.time.now = ORIGIN + at;
    // A block's key shares the hash tag of its charge.
    const charge = chargeOf([algorithm, cost, `{${key}}`]);
    const { charges } = await this.store.consume([
      { ...charge, block: { key: `${charge.key}:block`, algorithm: block, cost: counts } },
    ]);
    return charges[0]!;
  }

  /** Whether the store settles reservations: it may leave the method out. */
  get settles(): boolean {
    return this.store.settle !== undefined;
  }

  /** Reserves, and returns the receipts. */
  async reserve(at: number, ...asked: readonly Asked[]): Promise<readonly ChargeReceipt[]> {
    this.time.now = ORIGIN + at;
    const { charges } = await this.store.consume(asked.map((one) => ({ ...chargeOf(one), mode: 'reserve' })));
    return charges.map(({ receipt }) => receipt!);
  }

  /** The verdict on a reservation that has to be rejected. */
  async rejected(at: number, ...asked: Asked): Promise<ChargeVerdict> {
    this.time.now = ORIGIN + at;
    const { charges } = await this.store.consume([{ ...chargeOf(asked), mode: 'reserve' }]);
    expectFields(`the reservation at ${at} microseconds`, charges[0], { allowed: false });
    return charges[0]!;
  }

  /** Settles at a final cost, which may exceed each limit by `overdraft`. */
  async settle(at: number, receipts: readonly ChargeReceipt[], finalCost: number, overdraft = 0): Promise<unknown> {
    this.time.now = ORIGIN + at;
    return await this.store.settle?.(receipts.map((receipt) => ({ receipt, finalCost, overdraft })));
  }

  async refund(at: number, receipts: readonly ChargeReceipt[]): Promise<void> {
    this.time.now = ORIGIN + at;
    await this.store.refund?.(receipts);
  }
}

function rowOf(row: readonly Asked[]): Charge[] {
  return row.map((asked, i) => (i === 0 ? chargeOf(asked) : { ...chargeOf(asked), alternative: true }));
}

function chargeOf([algorithm, cost, key = 'key', headroom]: Asked): Charge {
  const charge = { key: KEY_PREFIX + key, algorithm, cost };
  return headroom === undefined ? charge : { ...charge, headroom };
}
