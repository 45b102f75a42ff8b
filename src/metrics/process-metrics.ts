import { collectDefaultMetrics, Registry } from 'prom-client';

let metrics: Registry | undefined;

/** CPU, memory, event loop, garbage collection: the process's, of which there is one, however many applications it runs. */
export function processMetrics(): Registry {
  if (metrics === undefined) {
    metrics = new Registry();
    collectDefaultMetrics({ register: metrics });
  }
  return metrics;
}
