/** The memory that an algorithm's states take in a process, if it is not `STATE_BYTES` until they expire. */
export interface Footprint<State = unknown> {
  /** Bytes by which a state grows for each unit of cost; 0 if its size does not depend on the cost. */
  readonly bytesPerCost: number;
  /** A high estimate of the bytes of a state on V8's heap; of undefined: the least that a first state takes. */
  sizeOf(state: State | undefined): number;
  /** Whether `state` still means something after `expiresAt`. */
  outlives?(state: State, now: number): boolean;
}

/** The bytes of a state of a few numbers. */
export const STATE_BYTES = 64;

/** An algorithm, or what counts rejections, by its states in a process. */
interface Sized {
  readonly footprint?: Footprint;
}

/** The bytes of a state of the algorithm. */
export function sizeOf({ footprint }: Sized, state: unknown): number {
  return footprint === undefined ? STATE_BYTES : footprint.sizeOf(state);
}

/** The bytes by which a state of the algorithm grows for each unit of cost. */
export function bytesPerCost({ footprint }: Sized): number {
  return footprint === undefined ? 0 : footprint.bytesPerCost;
}

/** The default as an object: a store reads a property that is there faster than one that is not. */
export const STATE_FOOTPRINT: Footprint = { bytesPerCost: 0, sizeOf: () => STATE_BYTES };
