import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { LEAN } from '../../../libs/floodgate/src/stores/redis/batch/programs.js';

/** Gives the answer to a call of the program, in bytes of the Redis protocol. */
export type Answering = (args: readonly string[]) => string;

/** The numbers of a fresh level on the wire. */
const FRESH: Readonly<Record<string, readonly number[]>> = {
  'token-bucket': [0],
  'leaky-bucket': [0],
  'fixed-window': [0, 1],
  'sliding-window-log': [0, 0, 0],
  'sliding-window-counter': [0, 0, 1],
  concurrency: [0, 0, 0],
};

/** The program's reply to requests with one charge each, all on fresh states. */
function freshReply(args: readonly string[]): (number | string)[] {
  const [, script, keys, ...rest] = args;
  const behind = rest.slice(Number(keys));
  const lean = [...LEAN].find(([, { sha1, text }]) => script === sha1 || script === text);
  if (lean !== undefined) {
    const fresh = FRESH[lean[0]]!;
    return [Date.now() * 1000, ...Array.from({ length: Number(keys) }, () => fresh).flat()];
  }
  const [, , policies, charges] = behind;
  const numbers = (JSON.parse(policies!) as [algorithm: string][]).map(([algorithm]) => FRESH[algorithm]!);
  const levels = Array.from({ length: charges!.length / 4 }, (_, i) => numbers[charges!.charCodeAt(4 * i) - 1]!);
  return [Date.now() * 1000, ...levels.flat()];
}

/** The reply of the overrides' program where there are none. */
function withoutOverrides(args: readonly string[]): string[] {
  const [operation, known] = args.slice(3 + Number(args[2]));
  const notices = ['0', '0'];
  return [
    String(Date.now()),
    '0',
    ...(operation === 'poll' ? notices : []),
    ...(operation === 'poll' && known !== '0' ? ['load'] : []),
  ];
}

/** Encodes a value as Redis does: whole numbers, texts as bulk strings, undefined as nil, and arrays of these. */
export function resp(value: unknown): string {
  if (Array.isArray(value)) return `*${value.length}\r\n${value.map(resp).join('')}`;
  if (typeof value === 'number') return `:${value}\r\n`;
  return typeof value === 'string' ? `$${Buffer.byteLength(value)}\r\n${value}\r\n` : '$-1\r\n';
}

/** A server of the Redis protocol whose answers to the program's calls the test chooses. */
export class RespServer implements AsyncDisposable {
  /** Default: the reply for fresh states. */
  answering: Answering | undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly listener: Server) {}

  static async start(): Promise<RespServer> {
    const listener = createServer({ noDelay: true }, (socket) => server.serve(socket));
    const server = new RespServer(listener);
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.listener.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    const closed = once(this.listener, 'close');
    this.listener.close();
    await closed;
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket)).on('error', () => undefined);
    let unread = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      unread = Buffer.concat([unread, bytes]);
      for (let command = next(unread); command !== undefined; command = next(unread)) {
        unread = unread.subarray(command.length);
        socket.write(this.answer(command.args));
      }
    });
  }

  private answer(args: readonly string[]): string {
    const name = args[0]!.toLowerCase();
    if (name === 'info') return resp('redis_version:7.0.0\r\nloading:0\r\nmaxmemory_policy:noeviction\r\n');
    if (name !== 'evalsha' && name !== 'eval') return '+OK\r\n';
    if (args[3]!.includes('{overrides}')) return resp(withoutOverrides(args));
    return this.answering?.(args) ?? resp(freshReply(args));
  }
}

/** The first complete command in the bytes read so far. */
function next(bytes: Buffer): { args: string[]; length: number } | undefined {
  let at = 0;
  const line = (): string | undefined => {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const text = bytes.toString('latin1', at, end);
    at = end + 2;
    return text;
  };
  const count = line();
  const args: string[] = [];
  for (let i = 0; i < Number(count?.slice(1) ?? -1); i++) {
    const length = line();
    if (length === undefined || bytes.length < at + Number(length.slice(1)) + 2) return undefined;
    args.push(bytes.toString('utf8', at, at + Number(length.slice(1))));
    at += Number(length.slice(1)) + 2;
  }
  return count === undefined ? undefined : { args, length: at };
}
