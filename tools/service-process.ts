import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BOOT_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 10_000;

/** The application, as `nest build` compiles it. */
export const BUILT_APPLICATION = `${ROOT}dist/src/main.js`;

export interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Milliseconds since the signal. */
  readonly afterMs: number;
}

/** The application or its matching service, in a process of its own that its real entry point starts. */
export class ServiceProcess implements AsyncDisposable {
  readonly sockets: Socket[] = [];
  private constructor(
    private readonly process: ChildProcess,
    readonly port: number,
    private readonly output: { text: string },
  ) {}

  /** @throws {Error} with its output when it ends before it listens */
  static async start(main: string, variables: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
    const { PATH } = process.env;
    const child = spawn(process.execPath, [main], {
      cwd: ROOT,
      env: { PATH, NO_COLOR: '1', PORT: '0', ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { text: '' };
    const limit = setTimeout(() => child.kill('SIGKILL'), BOOT_LIMIT_MS);
    try {
      const port = await new Promise<number>((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr]) {
          stream.setEncoding('utf8').on('data', (text: string) => {
            output.text += text;
            const found = /Listening on\nhttp:\/\/\S+:(\d+)/.exec(output.text)?.[1];
            if (found !== undefined) resolve(Number(found));
          });
        }
        child.once('exit', (code) => reject(new Error(`the service ended (${code}):\n${output.text}`)));
      });
      return new ServiceProcess(child, port, output);
    } finally {
      clearTimeout(limit);
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get log(): string {
    return this.output.text;
  }

  get pid(): number {
    return this.process.pid!;
  }

  /** Opens a connection and sends `text` on it. */
  async open(text = ''): Promise<Socket> {
    const socket = connect(this.port, '127.0.0.1');
    this.sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    if (text !== '') await new Promise((resolve) => socket.write(text, resolve));
    return socket;
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  /** Sends the signal and waits for the end. After the limit it sends SIGKILL. */
  async end(signal: NodeJS.Signals, limitMs: number): Promise<End> {
    const since = performance.now();
    // Not `exit`, which can come before the last output.
    const exit = once(this.process, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    this.process.kill(signal);
    const kill = setTimeout(() => this.process.kill('SIGKILL'), limitMs);
    const [code, by] = await exit;
    clearTimeout(kill);
    return { code, signal: by, afterMs: performance.now() - since };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    if (this.process.exitCode === null && this.process.signalCode === null) await this.end('SIGTERM', STOP_LIMIT_MS);
  }
}
