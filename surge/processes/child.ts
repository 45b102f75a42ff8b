import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Call, Procedures, Reply } from './answer-calls.js';

type Argument<P extends Procedures, N extends keyof P> = Parameters<P[N]>[0];
type Result<P extends Procedures, N extends keyof P> = Awaited<ReturnType<P[N]>>;

interface Caller {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Of this process's environment: the rest could be meant for an application that runs here. */
const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'NODE_OPTIONS'];
/** What a process has last said, for the error when it ends. */
const MAX_OUTPUT = 10_000;
const STOP_LIMIT_MS = 2_000;

/** A Node process that runs a script of this folder, which answers calls of the procedures `P` (`answerCalls`). */
export class Child<P extends Procedures> implements AsyncDisposable {
  private readonly process: ChildProcess;
  private readonly callers = new Map<number, Caller>();
  private calls = 0;
  private output = '';
  private ended: Error | undefined;

  private constructor(
    private readonly name: string,
    script: string,
  ) {
    const passedOn = PASSED_ON.flatMap((variable) => {
      const value = process.env[variable];
      return value === undefined ? [] : [[variable, value]];
    });
    // Built it is JavaScript, in tests TypeScript: as this file is.
    const url = new URL(`${script}.main${extname(import.meta.url)}`, import.meta.url);
    this.process = fork(fileURLToPath(url), {
      env: { ...(Object.fromEntries(passedOn) as Record<string, string>), NO_COLOR: '1' },
      serialization: 'advanced', // typed arrays and Infinity as they are
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.process.stdout!, this.process.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-MAX_OUTPUT);
      });
    }
    this.process.on('message', (message: Reply) => this.settle(message));
    this.process.on('error', (error) => this.end(error));
    this.process.once('close', (code, signal) =>
      this.end(new Error(`${this.name} ended (${code ?? signal}):\n${this.output}`)),
    );
  }

  /** @param script the file's name without `.main.ts` */
  static async start<P extends Procedures>(name: string, script: string): Promise<Child<P>> {
    const child = new Child<P>(name, script);
    await child.answer(0); // the first message has no number: the process is ready
    return child;
  }

  /** Rejects with what the procedure threw, or when the process ends. */
  call<N extends keyof P & string>(name: N, argument?: Argument<P, N>): Promise<Result<P, N>> {
    if (this.ended) return Promise.reject(this.ended);
    const id = ++this.calls;
    this.process.send({ id, name, argument } satisfies Call);
    return this.answer(id) as Promise<Result<P, N>>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, 'exit');
    if (this.process.connected) this.process.disconnect(); // which it takes as its end
    const kill = setTimeout(() => this.process.kill('SIGKILL'), STOP_LIMIT_MS);
    await exit;
    clearTimeout(kill);
  }

  private answer(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.callers.set(id, { resolve, reject }));
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
