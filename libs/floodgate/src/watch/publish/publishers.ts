import type { openTelemetry } from './opentelemetry.js';
import type { promClient } from './prom-client.js';
import type { spans } from './spans.js';

interface Publishers {
  promClient(): Promise<typeof promClient>;
  openTelemetry(): Promise<typeof openTelemetry>;
  spans(): Promise<typeof spans>;
}

/** What publishes counters. Each is loaded when it is chosen. */
export const PUBLISHERS: Publishers = {
  promClient: async () => (await import('./prom-client.js')).promClient,
  openTelemetry: async () => (await import('./opentelemetry.js')).openTelemetry,
  spans: async () => (await import('./spans.js')).spans,
};
