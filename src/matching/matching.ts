import type { ClaimedDriver } from '../drivers/driver-index.js';
import type { Position } from '../geo/position.js';

/** Why matching did not take a request; it is not the rider's fault and may pass. */
export type Unavailability = 'queue full' | 'waited too long' | 'shutting down';

export class MatchingUnavailableError extends Error {
  override readonly name = 'MatchingUnavailableError';

  constructor(readonly reason: Unavailability) {
    super(`matching is unavailable: ${reason}`);
  }
}

/** Finds drivers for riders. Behind an interface, and its injection token: several processes can share one over HTTP. */
export abstract class Matching {
  /**
   * The nearest free driver, who then is the rider's for the length of a trip; undefined if none is within reach.
   * @throws MatchingUnavailableError when there is too much to do
   */
  abstract match(pickup: Position): Promise<ClaimedDriver | undefined>;
}
