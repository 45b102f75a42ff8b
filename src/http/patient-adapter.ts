import { createServer } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { HttpConfiguration } from '../config/configuration.js';

/** How often Node looks for requests that take too long. Its default, 30 s, would add that much to every timeout. */
const CHECK_MS = 1000;

/** Longer than gateways keep an idle connection (60 s): one that this end closed first is a 502 for the client. */
const KEEP_ALIVE_MS = 65_000;

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
        keepAliveTimeout: KEEP_ALIVE_MS,
        connectionsCheckingInterval: CHECK_MS,
      },
      this.getInstance(),
    );
  }
}
