import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../dist/src/main.js', import.meta.url));
const BOOT_LIMIT_MS = 20_000;

/** The built application in a process of its own, as `npm run start:prod` starts it. */
export class BuiltApp implements AsyncDisposable {
  private constructor(
    private readonly process: ChildProcess,
    readonly url: string,
  ) {}

  static async start(variables: Record<string, string> = {}): Promise<BuiltApp> {
    const { PATH } = process.env;
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH, NO_COLOR: '1', PORT: '0', ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const port = new Promise<string>((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          const found = /Listening on http:\/\/\S+:(\d+)/.exec(output)?.[1];
          if (found !== undefined) resolve(found);
        });
      }
      child.once('exit', (code) => reject(new Error(`the application ended (${code}):\n${output}`)));
      setTimeout(() => reject(new Error(`the application does not listen:\n${output}`)), BOOT_LIMIT_MS).unref();
    });
    try {
      return new BuiltApp(child, `http://localhost:${await port}`);
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  /** Sends SIGTERM, and SIGKILL after a limit, like an orchestrator. @returns the signal that ended the process */
  async stop(): Promise<NodeJS.Signals | null> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return this.process.signalCode;
    const exit = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    const kill = setTimeout(() => this.process.kill('SIGKILL'), 10_000);
    await exit;
    clearTimeout(kill);
    return this.process.signalCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
