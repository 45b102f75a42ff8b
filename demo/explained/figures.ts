import { BURST, EDGE, OUTAGES, PODS } from './counting.js';
import type { Figure } from './scene.js';
import { COLLAPSE, LIMIT, QUEUE } from './waiting.js';

/** The ideas of the page "Rate limiting, explained", in its order. */
export const FIGURES = {
  queue: QUEUE,
  collapse: COLLAPSE,
  limit: LIMIT,
  burst: BURST,
  edge: EDGE,
  pods: PODS,
  outage: OUTAGES,
} as const satisfies Readonly<Record<string, Figure>>;

export type Idea = keyof typeof FIGURES;
