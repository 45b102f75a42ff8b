import { createServer } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';

/** How often Node looks for requests that take too long. Its default, 30 s, would add that much to every timeout. */
const CHECK_MS = 1000;

/** Express on a server that enforces its timeouts every second. `Connections` sets the timeouts. */
export class PatientAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    // Only the constructor of a server takes this option.
    this.httpServer = createServer({ connectionsCheckingInterval: CHECK_MS }, this.getInstance());
  }
}
