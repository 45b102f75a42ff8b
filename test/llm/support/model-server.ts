import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a pretend model answers: pieces that it writes one by one, and how it ends. */
export interface Script {
  readonly status?: number;
  readonly type?: string;
  readonly pieces: readonly (string | Buffer)[];
  /** `'cut'`: the connection is reset after the last piece; `'open'`: it writes no more, until the client leaves. */
  readonly end?: 'cut' | 'open';
}

/** A model behind HTTP that answers each call by the next script. */
export class ModelServer implements AsyncDisposable {
  private readonly scripts: Script[] = [];
  private readonly server = createServer((request, response) => {
    request.resume().on('end', () => void this.answer(response));
  });
  /** How many calls it got. */
  calls = 0;

  static async start(): Promise<ModelServer> {
    const model = new ModelServer();
    await new Promise<void>((resolve) => model.server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  plays(...scripts: Script[]): this {
    this.scripts.push(...scripts);
    return this;
  }

  private async answer(response: ServerResponse): Promise<void> {
    this.calls++;
    const { status = 200, type = 'text/event-stream', pieces, end } = this.scripts.shift()!;
    response.writeHead(status, { 'Content-Type': type });
    for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve));
    if (end === 'cut') response.socket!.resetAndDestroy();
    else if (end === undefined) response.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Server-sent events of these objects. */
export function events(...all: readonly object[]): string[] {
  return all.map((event) => `data: ${JSON.stringify(event)}\n\n`);
}
