import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ServiceProcess } from './service-process.js';

/** A service started with this in NODE_OPTIONS has an inspector on a free port. */
export const INSPECT = '--inspect=127.0.0.1:0';

/** The heap of a service that runs with `INSPECT`, read by the protocol of V8's inspector. */
export class InspectedHeap implements Disposable {
  private calls = 0;
  private constructor(private readonly socket: WebSocket) {}

  static async of(service: ServiceProcess): Promise<InspectedHeap> {
    const url = /Debugger listening on (ws:\/\/\S+)/.exec(service.log)?.[1];
    if (url === undefined) throw new Error(`the service has no inspector:\n${service.log}`);
    const socket = new WebSocket(url);
    await once(socket, 'open');
    return new InspectedHeap(socket);
  }

  /** The bytes that live objects and buffers take, after a full collection. */
  async collected(): Promise<number> {
    // The second collection frees what finalizers of the first have let go.
    await this.call('HeapProfiler.collectGarbage');
    await this.call('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = await this.call('Runtime.getHeapUsage');
    return usedSize! + backingStorageSize;
  }

  private async call(method: string): Promise<Partial<Record<string, number>>> {
    const id = ++this.calls;
    this.socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [message] = (await once(this.socket, 'message')) as [Buffer];
      const answer = JSON.parse(message.toString()) as {
        id?: number;
        result?: Record<string, number>;
        error?: unknown;
      };
      if (answer.id !== id) continue;
      if (answer.result === undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`);
      return answer.result;
    }
  }

  [Symbol.dispose](): void {
    this.socket.terminate();
  }
}
