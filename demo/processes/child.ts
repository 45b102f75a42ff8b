import { type ChildProcess, fork } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Call, Procedures, Reply } from './answer-calls.js';

type Argument<P extends Procedures, N extends keyof P> = Parameters<P[N]>[0];
type Result<P extends Procedures, N extends keyof P> = Awaited<ReturnType<P[N]>>;

interface Caller {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Variables that a child inherits. The others may configure an application of the user's own. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'NODE_OPTIONS'];
/**
 * The debugger is for the user's own process. Its port is taken, and with `--inspect-brk` a child would wait for somebody whom
 * nobody sent.
 */
const INSPECTION = /(?<!\S)--inspect(-brk|-wait|-port)?(=\S*)?(?!\S)/g;
/** Characters of a process's last output that go into the error when it ends. */
const MAX_OUTPUT = 10_000;
const STOP_LIMIT_MS = 2_000;
/** Far more than a busy machine needs to start a process, or for a call that opens an application. */
export const START_LIMIT_MS = 60_000;

/** The error of a process without the output that follows: for people who do not read logs. */
export function headOf({ message }: Error): string {
  return message.split('\n', 1)[0]!.replace(/:$/, '');
}

export interface ChildOptions {
  /** The subject of error messages. */
  readonly name: string;
  readonly script: URL;
  /** A module that Node loads before the script. */
  readonly preload?: URL;
  /** Further environment variables. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Kills the process, also one that still starts. */
  readonly signal?: AbortSignal;
  /** Milliseconds until a process that does not answer calls yet is killed; default 60,000. */
  readonly startLimitMs?: number;
}

/** A Node process whose script or preloaded module answers calls of the procedures `P` (`answerCalls`). */
export class Child<P extends Procedures> implements AsyncDisposable {
  private readonly process: ChildProcess;
  private readonly callers = new Map<number, Caller>();
  private calls = 0;
  private output = '';
  private ended: Error | undefined;

  private readonly name: string;

  private constructor({ name, script, preload, variables, signal }: ChildOptions) {
    this.name = name;
    const inherited = INHERITED.flatMap((variable) => {
      const value = process.env[variable];
      return value === undefined ? [] : [[variable, value.replaceAll(INSPECTION, '')]];
    });
    this.process = fork(fileURLToPath(script), {
      env: { ...(Object.fromEntries(inherited) as Record<string, string>), NO_COLOR: '1', ...variables },
      execArgv: [
        ...process.execArgv.filter((option) => option.replaceAll(INSPECTION, '') !== ''),
        ...(preload === undefined ? [] : ['--import', preload.href]),
      ],
      serialization: 'advanced', // keeps typed arrays and Infinity
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      ...(signal && { signal, killSignal: 'SIGKILL' }),
    });
    this.process.on('message', (message: Reply) => this.settle(message));
    this.process.on('error', (error) => this.end(error));
    // They are missing when this process has no file descriptors for another one.
    const { stdout, stderr }: { readonly stdout: Readable | null | undefined; readonly stderr: typeof stdout } =
      this.process;
    for (const stream of [stdout, stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-MAX_OUTPUT);
      });
    }
    this.process.once('close', (code, killedBy) =>
      this.end(new Error(`${this.name} ended (${code ?? killedBy}):\n${this.output}`)),
    );
  }

  /**
   * Resolves when the process answers calls. Rejects once there is no process.
   *
   * @throws Error with the last output of a process that ends before, or hangs
   */
  static async start<P extends Procedures>(options: ChildOptions): Promise<Child<P>> {
    const { startLimitMs = START_LIMIT_MS } = options;
    const child = new Child<P>(options);
    // The first message, without a number, says that the process is ready.
    try {
      await child.within(startLimitMs, 'has not started', child.answer(0));
      return child;
    } catch (error) {
      child.process.kill('SIGKILL');
      await child.exit();
      throw error;
    }
  }

  /** @throws Error with the last output of a process that has ended */
  assertRunning(): void {
    if (this.ended) throw this.ended;
  }

  /**
   * Calls a procedure of the process. Rejects with the procedure's error, or when the process ends.
   *
   * @param limitMs milliseconds after which a process that has not answered hangs, and is killed; default none
   */
  call<N extends keyof P & string>(name: N, argument?: Argument<P, N>, limitMs = Infinity): Promise<Result<P, N>> {
    if (this.ended) return Promise.reject(this.ended);
    const id = ++this.calls;
    // A call to a process that has just ended fails with its 'close', which has its last output.
    this.process.send({ id, name, argument } satisfies Call, () => undefined);
    const answer = this.answer(id) as Promise<Result<P, N>>;
    return limitMs === Infinity ? answer : this.within(limitMs, 'has not answered', answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.connected) this.process.disconnect(); // `answerCalls` ends the process then
    const kill = setTimeout(() => this.process.kill('SIGKILL'), STOP_LIMIT_MS);
    await this.exit();
    clearTimeout(kill);
  }

  /** Resolves when there is no process: it has ended, or could not be started. */
  private async exit(): Promise<void> {
    const { pid, exitCode, signalCode } = this.process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    // Not `once` of node:events, which rejects where a signal kills the process meanwhile.
    await new Promise((resolve) => this.process.once('exit', resolve));
  }

  private answer(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.callers.set(id, { resolve, reject }));
  }

  /** Kills a process that hangs. All its calls reject then. */
  private async within<T>(limitMs: number, lack: string, answer: Promise<T>): Promise<T> {
    const limit = setTimeout(() => {
      this.end(new Error(`${this.name} ${lack} for ${limitMs / 1_000} s:\n${this.output}`));
      this.process.kill('SIGKILL');
    }, limitMs);
    try {
      return await answer;
    } finally {
      clearTimeout(limit);
    }
  }

  private settle({ id = 0, result, error }: Reply): void {
    const caller = this.callers.get(id);
    this.callers.delete(id);
    if (error === undefined) caller?.resolve(result);
    else caller?.reject(new Error(`${this.name}: ${error}`));
  }

  private end(error: Error): void {
    this.ended ??= error;
    for (const { reject } of this.callers.values()) reject(error);
    this.callers.clear();
  }
}
