import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import type { Workshop } from './workshop.js';

/** A registry that has the packed library, and sends on for everything else. */
export interface Registry extends AsyncDisposable {
  readonly url: string;
}

/** Serves the packed library as `npm publish` would have it served. */
export async function serveLibrary({ library, registry }: Workshop): Promise<Registry> {
  const tarball = readFileSync(library.tarball);
  const { manifest } = library;
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const { port } = server.address() as AddressInfo;
    if (path === `/${basename(library.tarball)}`) {
      response.end(tarball);
    } else if (path === `/${manifest.name}`) {
      const dist = {
        tarball: `http://127.0.0.1:${port}/${basename(library.tarball)}`,
        integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
        shasum: createHash('sha1').update(tarball).digest('hex'),
      };
      const { name, version } = manifest;
      response.setHeader('Content-Type', 'application/json');
      response.end(
        JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }),
      );
    } else {
      response.writeHead(307, { Location: `${registry.replace(/\/$/, '')}${path}` }).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
