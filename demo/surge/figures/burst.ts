import type { Observation } from '../../riders/index.js';
import { excess, isAdmitted, RIDER_LIMITS } from './checks.js';

/** The requests of one rider that were sent at once to all processes. */
export interface BurstFigures {
  readonly sent: number;
  readonly admitted: number;
  /** From the first sending to the last answer of an admitted request. */
  readonly tookMs: number;
  /** Admitted requests beyond the capacity that the bucket had refilled in this time. */
  readonly refilled: number;
  /** Admitted requests beyond capacity + refill x time: 0, unless the limit was broken. */
  readonly over: number;
}

export function burstOf(observations: readonly Observation[]): BurstFigures {
  const admitted = observations.filter(isAdmitted);
  const firstSentAt = Math.min(...observations.map(({ sentAt }) => sentAt));
  const tookMs = Math.max(0, ...admitted.map(({ answeredAt }) => answeredAt - firstSentAt));
  const starts = [firstSentAt, ...admitted.map(({ sentAt }) => sentAt)];
  const over = admitted.length === 0 ? 0 : excess(admitted, RIDER_LIMITS.rides, starts);
  const beyond = Math.max(0, admitted.length - RIDER_LIMITS.rides.capacity);
  return {
    sent: observations.length,
    admitted: admitted.length,
    tookMs,
    refilled: Math.max(0, beyond - over),
    over,
  };
}
