import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One answer of a scripted server. */
export interface Scripted {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text as it is, anything else as JSON. */
  readonly body?: unknown;
}

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What the test's clock showed. */
  readonly at: number;
}

/** A server that gives answers one after the other, and 200 after the last one. */
export class ScriptedServer implements AsyncDisposable {
  readonly seen: Seen[] = [];

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(
    answers: readonly Scripted[],
    now: () => number = () => performance.now(),
  ): Promise<ScriptedServer> {
    const left = [...answers];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        scripted.seen.push({ method, path: url, body: Buffer.concat(chunks).toString(), headers, at: now() });
        const { status = 200, headers: given = {}, body = '' } = left.shift() ?? {};
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        const type = typeof body === 'string' ? {} : { 'Content-Type': 'application/json' };
        response.writeHead(status, { ...type, ...given }).end(text);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const scripted = new ScriptedServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/path`);
    return scripted;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
