import type { RateLimitRequest } from 'nestjs-floodgate';

/** A phone without a connection buffers its positions and sends them at once. 30 s of positions are far below this. */
export const MAX_POSITIONS = 500;

/**
 * The cost of a location request: one per position.
 *
 * The guard runs before validation, so the body can be anything. An invalid body costs as much as the nearest valid one.
 */
export function batchCost({ body }: RateLimitRequest): number {
  return Array.isArray(body) ? Math.min(Math.max(body.length, 1), MAX_POSITIONS) : 1;
}
