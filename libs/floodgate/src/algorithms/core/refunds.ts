/** What a settlement knows of the charge that it settles. Instants are whole microseconds. */
export interface ChargeMark {
  /** What was charged. */
  readonly cost: number;
  /** The instant of the charge. */
  readonly at: number;
  /** `at` plus `resetAfter` right after the charge: identifies the window or slot of the charge. */
  readonly resetAt: number;
  /** What `RefundMarkers.of` returned. Without it a refund may be smaller. */
  readonly refundMarker?: readonly number[] | undefined;
}

/** Refunds charges. An algorithm without it keeps what it has charged. */
export interface Refunds<Level = unknown, State = unknown> {
  /** The number of parts in a unit of cost. `refund` returns parts: for a bucket, ticks. */
  readonly unit: number;
  /** What the receipts of reservations keep, where `resetAt` does not tell enough. */
  readonly markers?: RefundMarkers<Level, State>;
  /**
   * Removes `cost` of a charge from `state`, in place. Removes less if more would let requests exceed the limit, since other
   * requests may have been decided meanwhile. `state` must not be ahead.
   *
   * @param cost a part of the charge's cost, or all of it
   * @returns what was refunded, in parts of a unit of cost
   */
  refund(state: State, now: number, cost: number, charge: ChargeMark): number;
  /**
   * The level after a full refund of these charges, one after the other, the last one first.
   *
   * @param charges in the order of their `resetAt`
   * @param refundMarker the numbers of a reply that a reservation's receipt needs, or `RefundMarkers.read` of the state
   */
  without(
    level: Level,
    charges: readonly ChargeMark[],
    now: number,
    refundMarker: readonly number[] | undefined,
  ): Level;
}

/** What a reservation's receipt keeps of the state before its charge. */
export interface RefundMarkers<Level = unknown, State = unknown> {
  /** How many more numbers of a reply from Redis the receipt needs. */
  readonly length: number;
  /** Reads those numbers from a state in memory. */
  read(state: State | undefined, now: number): readonly number[];
  /** The receipt's marker, made from the level before its charge and from those numbers. */
  of(level: Level, numbers: readonly number[] | undefined): readonly number[];
  /** Lets a state that a reservation has charged live as long as its settlement may need it. */
  hold(state: State | undefined, now: number): void;
}
