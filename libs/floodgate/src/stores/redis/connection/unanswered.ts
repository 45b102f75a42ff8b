import type { Charge } from '../../charge.js';
import type { RateLimitStoreError } from '../../store.js';
import type { Availability } from '../batch/availability.js';
import type { Lane } from '../batch/lane.js';
import { decisionFailure, RedisUnavailableError } from './redis-failure.js';

/** Requests that may wait for the answers of one server, about 1.6 KB each: a saturated process has some 1,500. */
export const MAX_UNANSWERED = 25_000;

/**
 * Bounds what waits in a client of the application, which may keep calls for as long as Redis does not answer. Beyond the bound
 * nothing is sent to that server until the client has settled some of them. The client stays as it is.
 */
export class Unanswered implements Availability {
  /** The requests that wait, by node of a Cluster; one server has an empty name. */
  private readonly waiting = new Map<string, number>();

  /** @param laneOf the lane of a charge; undefined while the store may choose another one */
  constructor(
    private readonly laneOf: (charge: Charge) => Lane | undefined,
    private readonly most = MAX_UNANSWERED,
  ) {}

  check(charges: readonly Charge[]): RedisUnavailableError | undefined {
    if (this.waiting.size === 0) return undefined;
    for (const charge of charges) {
      const lane = this.laneOf(charge);
      const unavailable = lane && this.checkLane(lane);
      if (unavailable !== undefined) return unavailable;
    }
    return undefined;
  }

  checkLane({ node = '' }: Lane): RedisUnavailableError | undefined {
    const waiting = this.waiting.get(node) ?? 0;
    if (waiting < this.most) return undefined;
    const server = node === '' ? 'Redis' : `Redis node ${node}`;
    return new RedisUnavailableError(`${server} has not answered ${waiting} requests yet`, false, false);
  }

  answered(): void {}

  failed(error: Error): RateLimitStoreError {
    return decisionFailure(error);
  }

  /** Makes a call, and counts its requests until the client settles it, however late. */
  async call<T>({ node = '' }: Lane, requests: number, run: () => Promise<T>): Promise<T> {
    this.add(node, requests);
    try {
      return await run();
    } finally {
      this.add(node, -requests);
    }
  }

  private add(node: string, requests: number): void {
    const waiting = (this.waiting.get(node) ?? 0) + requests;
    // A node may leave the Cluster.
    if (waiting === 0) this.waiting.delete(node);
    else this.waiting.set(node, waiting);
  }
}
