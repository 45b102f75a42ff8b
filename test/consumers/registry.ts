import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PackedPackage {
  readonly tarball: string;
  /** Its package.json. */
  readonly manifest: { readonly name: string; readonly version: string };
}

/** A registry that has the packages of this repository, and sends on for all others. */
export interface Registry {
  readonly url: string;
  close(): void;
}

/**
 * Serves packed packages as `npm publish` would have them served.
 *
 * @param upstream the registry of all others
 */
export async function servePackages(packages: readonly PackedPackage[], upstream: string): Promise<Registry> {
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    const tarball = packages.find((one) => path === fileOf(one));
    const named = packages.find(({ manifest }) => path === `/${manifest.name}`);
    if (tarball !== undefined) response.end(readFileSync(tarball.tarball));
    else if (named !== undefined) response.end(JSON.stringify(documentOf(named, server.address() as AddressInfo)));
    else response.writeHead(307, { Location: `${upstream.replace(/\/$/, '')}${path}` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close(): void {
      server.close();
      server.closeAllConnections();
    },
  };
}

function fileOf({ manifest: { name, version } }: PackedPackage): string {
  return `/${name}/-/${name}-${version}.tgz`;
}

function documentOf(packed: PackedPackage, { port }: AddressInfo): object {
  const { name, version } = packed.manifest;
  const content = readFileSync(packed.tarball);
  const dist = {
    tarball: `http://127.0.0.1:${port}${fileOf(packed)}`,
    integrity: `sha512-${createHash('sha512').update(content).digest('base64')}`,
    shasum: createHash('sha1').update(content).digest('hex'),
  };
  // Yarn takes no version that is younger than a day.
  const time = { [version]: '2020-01-01T00:00:00.000Z' };
  return { name, 'dist-tags': { latest: version }, time, versions: { [version]: { ...packed.manifest, dist } } };
}
