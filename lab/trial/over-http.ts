import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Limiter } from './adapter.js';

/** A limiter behind a server: 200 is allowed, 429 rejected, all else an error. The client is in the header `x-client`, the cost in `x-cost`. */
export function overHttp(server: Pick<Server, 'address'>): Limiter {
  const { port } = server.address() as AddressInfo;
  return {
    consume: async (key, cost) => {
      const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { 'x-client': key, 'x-cost': `${cost}` } });
      const body = await response.text();
      if (response.status !== 200 && response.status !== 429) throw new Error(`${response.status} ${body}`);
      const retryAfter = response.headers.get('retry-after');
      const retryAfterMs = retryAfter === null ? undefined : 1_000 * Number(retryAfter);
      return { allowed: response.status === 200, retryAfterMs };
    },
  };
}
