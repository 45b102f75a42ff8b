// Holds many keep-alive connections to a service, and sends pipelined requests over all of them.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { serve } from '../../support/processes/serve.js';

export interface Storm {
  /** Pipelined requests per connection. */
  readonly each: number;
  /** The number of riders who send the requests in turn: `${prefix}-0` and so on. */
  readonly riders: number;
  readonly prefix: string;
}

export interface Outcome {
  /** Answers by status; `lost` counts requests without one. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

// An alias, since an interface has no index signature.
export type CrowdProcedures = {
  readonly open: (call: { readonly port: number; readonly count: number }) => Promise<number>;
  readonly storm: (storm: Storm) => Promise<Outcome>;
};

/** Connections opened at a time: fewer than a server's backlog. */
const AT_A_TIME = 200;
const BODY = JSON.stringify({ factor: 1 });

const sockets: Socket[] = [];

function requestOf(rider: string): string {
  const head = `PUT /api/admin/zones/872a100d2ffffff/surge HTTP/1.1\r\nHost: localhost\r\nX-User-Id: ${rider}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
}

/** Sends requests and returns the status and the time of each answer, in order. */
function exchange(socket: Socket, requests: readonly string[]): Promise<(readonly [status: string, ms: number])[]> {
  return new Promise((resolve) => {
    const since = performance.now();
    const answers: (readonly [string, number])[] = [];
    let tail = '';
    const end = (): void => {
      socket.off('data', read).off('close', end);
      resolve(answers);
    };
    const read = (chunk: Buffer): void => {
      tail += chunk.toString('latin1');
      const ms = performance.now() - since;
      for (const [, status] of tail.matchAll(/HTTP\/1\.1 (\d{3}) /g)) answers.push([status!, ms]);
      // Keeps a status line that two chunks share, and drops one that was read.
      tail = tail.slice(Math.max(0, tail.lastIndexOf('HTTP/1.1 ')));
      if (/^HTTP\/1\.1 \d{3} /.test(tail)) tail = tail.slice(13);
      if (answers.length >= requests.length) end();
    };
    socket.on('data', read).on('close', end);
    if (socket.destroyed) end();
    else socket.write(requests.join(''));
  });
}

serve({
  open: async ({ port, count }) => {
    for (let left = count; left > 0; left -= AT_A_TIME) {
      const opened = Array.from({ length: Math.min(left, AT_A_TIME) }, () => connect(port, '127.0.0.1'));
      await Promise.all(opened.map((socket) => once(socket, 'connect')));
      for (const socket of opened) socket.on('error', () => undefined);
      sockets.push(...opened);
    }
    return sockets.length;
  },
  storm: async ({ each, riders, prefix }) => {
    const texts = Array.from({ length: riders }, (_, i) => requestOf(`${prefix}-${i}`));
    const exchanges = sockets.map((socket, i) =>
      exchange(
        socket,
        Array.from({ length: each }, (_, j) => texts[(i * each + j) % riders]!),
      ),
    );
    const answers = (await Promise.all(exchanges)).flat();
    const statuses: Record<string, number> = { lost: sockets.length * each - answers.length };
    for (const [status] of answers) statuses[status] = (statuses[status] ?? 0) + 1;
    const times = answers.map(([, ms]) => ms).toSorted((a, b) => a - b);
    const at = (share: number): number => Math.round(times[Math.floor(share * (times.length - 1))] ?? Number.NaN);
    return { statuses, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  },
} satisfies CrowdProcedures);
