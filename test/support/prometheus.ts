import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Program, requireProgram } from '../../tools/programs.js';
import { killWithThisProcess, randomPort } from '../../tools/redis-server.js';
import { until } from './faults/until.js';

const START_LIMIT_MS = 20_000;
const PORT_ATTEMPTS = 20;

/** Runs promtool; rejects with its error messages. */
export async function promtool(...args: string[]): Promise<string> {
  try {
    const { stdout, stderr } = await promisify(execFile)(requireProgram('promtool'), args);
    return stdout + stderr;
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error(`promtool ${args.join(' ')}: ${message}\n${stdout}${stderr}`, { cause: error });
  }
}

/** A program that listens on a port of the loopback interface until it is disposed of. */
export class Daemon implements AsyncDisposable {
  private output = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    readonly port: number,
  ) {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (chunk: Buffer) => void (this.output = (this.output + chunk.toString()).slice(-10_000)));
    }
  }

  /**
   * @param args the command line arguments for a port and an empty directory, which the daemon removes in the end
   * @param path answers 200 once the program is ready
   */
  static async start(
    program: Program,
    args: (port: number, directory: string) => readonly string[],
    path: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Daemon> {
    const file = requireProgram(program);
    for (let attempt = 1; ; attempt++) {
      const port = randomPort();
      const directory = await mkdtemp(join(tmpdir(), `floodgate-${program}-`));
      const child = spawn(file, args(port, directory), {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...env },
      });
      const daemon = new Daemon(child, directory, port);
      try {
        await once(child, 'spawn');
        killWithThisProcess({ child, pid: child.pid!, directory });
        await until(`${program} on port ${port}`, START_LIMIT_MS, () => daemon.isReady(path));
        if (daemon.hasEnded()) throw new Error('It ended');
        return daemon;
      } catch (error) {
        await daemon[Symbol.asyncDispose]();
        const isTaken = daemon.output.includes('address already in use');
        if (!isTaken || attempt === PORT_ATTEMPTS) {
          throw new Error(`${program} did not start:\n${daemon.output}`, { cause: error });
        }
      }
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { child, directory } = this;
    if (!this.hasEnded() && child.pid !== undefined) {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
    await rm(directory, { recursive: true, force: true });
  }

  private async isReady(path: string): Promise<boolean> {
    return this.hasEnded() || (await fetch(this.url + path)).ok; // an ended program never becomes ready
  }

  private hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}
