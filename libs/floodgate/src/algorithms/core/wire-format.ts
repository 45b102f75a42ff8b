/**
 * How an algorithm and its levels travel between a process and Redis: what calls the Lua twin in `lua/algorithms/`, and what reads
 * its reply.
 */
export interface WireFormat<Level = unknown> {
  /** The file in `lua/algorithms/`, without its ending. */
  readonly program: string;
  /** The numbers after `algorithm, ask, take` in a policy on the wire; see the header of the Lua file. */
  readonly numbers: readonly number[];
  /**
   * The numbers, for an algorithm whose numbers depend on the instant `now`. They are valid for a while before and after it.
   */
  numbersAt?(now: number): readonly number[];
  /** How many whole numbers of a reply describe a level. */
  readonly replyLength: number;
  /** Whether the program can have sent `reply[offset]` and the numbers after it as a level. */
  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean;
  /** The level that `reply[offset]` and the numbers after it describe. */
  decode(reply: readonly number[], offset: number): Level;
}
