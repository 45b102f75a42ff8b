import type { ExecutionContext } from '@nestjs/common';

/** A phone that was out of reach sends what it buffered at once; 30 s of positions are far below this. */
export const MAX_POSITIONS = 500;

/**
 * What a location request costs: one per position. It is asked before the body is validated, so anything can be in there;
 * a body that will be rejected costs what the nearest acceptable one does.
 */
export function batchCost(context: ExecutionContext): number {
  const { body } = context.switchToHttp().getRequest<{ body?: unknown }>();
  return Array.isArray(body) ? Math.min(Math.max(body.length, 1), MAX_POSITIONS) : 1;
}
