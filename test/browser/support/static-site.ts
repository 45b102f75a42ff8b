import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};
const PACKED = new Set(['.png', '.webp', '.woff2']);

/** A folder of files as a static host serves it: compressed, pages without `.html`, and nothing outside of its path. */
export class StaticSite implements AsyncDisposable {
  private constructor(
    private readonly server: Server,
    /** With a slash at its end. */
    readonly url: string,
  ) {}

  /** @param base the path below which the files are, such as `/floodgate/` */
  static async serve(folder: string, base: string): Promise<StaticSite> {
    const server = createServer((request, response) => {
      const path = decodeURIComponent(request.url!.split(/[?#]/)[0]!);
      const found = path.startsWith(base) ? answer(folder, path.slice(base.length)) : Promise.resolve(undefined);
      void found.then((file) => {
        if (file === undefined) return response.writeHead(404).end();
        return response.writeHead(200, file.headers).end(file.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new StaticSite(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await promisify(this.server.close.bind(this.server))();
  }
}

interface Answer {
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: Buffer;
}

async function answer(folder: string, path: string): Promise<Answer | undefined> {
  for (const name of [path, `${path}.html`, join(path, 'index.html')]) {
    const text = await readFile(join(folder, name)).catch(() => undefined);
    if (text === undefined) continue;
    const type = extname(name);
    const isPacked = PACKED.has(type);
    const body = isPacked ? text : await promisify(gzip)(text);
    return {
      body,
      headers: {
        'Content-Type': TYPES[type] ?? 'application/octet-stream',
        'Content-Length': body.length,
        ...(!isPacked && { 'Content-Encoding': 'gzip' }),
      },
    };
  }
  return undefined;
}
