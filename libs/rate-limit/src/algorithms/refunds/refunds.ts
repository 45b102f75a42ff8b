/** What a settlement knows of the charge that it settles. Instants are whole microseconds. */
export interface ChargeMark {
  /** What was charged. */
  readonly cost: number;
  /** The instant of the charge. */
  readonly at: number;
  /** `at` plus `resetAfter` right after the charge: identifies the window or slot of the charge. */
  readonly resetAt: number;
  /** What `Stamps.of` returned. Without it a refund may be smaller. */
  readonly refundMarker?: readonly number[] | undefined;
}

/** How charges are taken back. An algorithm without it keeps what it has charged. */
export interface Refunds<Level = unknown, State = unknown> {
  /** How many of the parts that `refund` returns are a unit of cost. A bucket refunds ticks. */
  readonly unit: number;
  /** What the receipts of reservations keep, where `resetAt` does not tell enough. */
  readonly markers?: RefundMarkers<Level, State>;
  /**
   * Takes `cost` of a charge out of `state`, in place, as far as the limit allows: other requests may have been decided since.
   * `state` must not be ahead.
   *
   * @param cost a part of the charge's cost, or all of it
   * @returns what was refunded, in parts of a unit of cost
   */
  refund(state: State, now: number, cost: number, charge: ChargeMark): number;
  /**
   * The level that is left when these charges are refunded as a whole, one after the other, from the last one on.
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
  /** What those numbers are for a state in memory. */
  read(state: State | undefined, now: number): readonly number[];
  /** What the receipt keeps of the level before its charge and of those numbers. */
  of(level: Level, numbers: readonly number[] | undefined): readonly number[];
  /** Lets a state that a reservation has charged live as long as its settlement may need it. */
  hold(state: State | undefined, now: number): void;
}
