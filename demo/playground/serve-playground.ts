import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable, type NestMiddleware } from '@nestjs/common';
import { type PlaygroundFile, readPlaygroundFiles } from './playground-files.js';

/** Allows files of this process only, no inline script or style, and no request. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/**
 * Serves the playground at `/playground/`: the algorithms side by side, in the browser. It is static. It tells nothing of this process
 * and changes nothing in it, so any host name may show it, in any mode of the control room.
 *
 * A middleware, since Express and Fastify spell a route of all files in all folders differently.
 */
@Injectable()
export class ServePlayground implements NestMiddleware {
  private files?: ReadonlyMap<string, PlaygroundFile>;

  use(request: IncomingMessage & { readonly originalUrl?: string }, response: ServerResponse, next: () => void): void {
    const { method, originalUrl, url } = request;
    const path = /^\/playground(\/[^?]*)?(?:\?|$)/i.exec(originalUrl ?? url ?? '');
    if (path === null || (method !== 'GET' && method !== 'HEAD')) return next();
    // The page names its files relative to itself, so that it works in any folder of any host.
    if (path[1] === undefined) {
      response.writeHead(302, { Location: 'playground/' }).end();
      return;
    }
    this.files ??= readPlaygroundFiles();
    const file = this.files.get(path[1].slice(1));
    if (file === undefined) return next();
    response.writeHead(200, {
      ...HEADERS,
      'Cache-Control': file.caching,
      'Content-Type': file.type,
      'Content-Length': Buffer.byteLength(file.content),
    });
    response.end(method === 'HEAD' ? undefined : file.content);
  }
}
