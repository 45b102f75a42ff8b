import type { IdentityRequest } from '../identity/resolvers.js';

/** What the requests of Express and Fastify have in common. */
export interface HttpRequest extends IdentityRequest {
  readonly raw?: Pick<HttpRequest, 'rawHeaders' | 'httpVersionMajor' | 'socket' | 'stream'>;
  readonly httpVersionMajor?: number;
  /** HTTP/2. */
  readonly stream?: unknown;
}
