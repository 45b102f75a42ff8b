import { collectDefaultMetrics, Registry } from 'prom-client';

let metrics: Registry | undefined;

/** CPU, memory, event loop and garbage collection of the process. Several applications in one process share them. */
export function processMetrics(): Registry {
  if (metrics === undefined) {
    metrics = new Registry();
    collectDefaultMetrics({ register: metrics });
  }
  return metrics;
}
