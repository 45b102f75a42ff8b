import { createServer } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { HttpConfiguration } from '../config/configuration.js';

/** How often Node looks for requests that take too long. Its default, 30 s, would add that much to every timeout. */
const CHECK_MS = 1000;

/** Express on a server whose clients have so much time to send a request. Only the constructor of a server takes all of these. */
export class PatientAdapter extends ExpressAdapter {
  constructor(private readonly times: Pick<HttpConfiguration, 'headersTimeoutMs' | 'requestTimeoutMs'>) {
    super();
  }

  override initHttpServer(): void {
    const { headersTimeoutMs, requestTimeoutMs } = this.times;
    this.httpServer = createServer(
      {
        headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
        requestTimeout: requestTimeoutMs,
        connectionsCheckingInterval: CHECK_MS,
      },
      this.getInstance(),
    );
  }
}
