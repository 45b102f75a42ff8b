import { expect } from '@jest/globals';
import type { InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp, { exporter }: { exporter: InMemorySpanExporter }): Promise<void> {
  for (let i = 0; i < 4; i++) expect((await app.send(`/?n=${i}`)).status).toBe(i < 2 ? 200 : 429);
  for (const { name, events } of exporter.getFinishedSpans()) {
    for (const { attributes } of events) console.log(`${name} ${JSON.stringify(attributes)}`);
  }
}
