import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a process can be asked: functions of one argument. Arguments and results are copied. */
export type Procedures = Readonly<Record<string, (argument: never) => unknown>>;

export interface Call {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

export interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

type Argument<P extends Procedures, N extends keyof P> = Parameters<P[N]>[0];
type Result<P extends Procedures, N extends keyof P> = Awaited<ReturnType<P[N]>>;

interface Caller {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const TYPESCRIPT = new URL('../typescript-loader.js', import.meta.url).href;

/** Separate Node processes that run one TypeScript file each, which ends with `serve(procedures)`. */
export class Processes<P extends Procedures> implements AsyncDisposable {
  private constructor(private readonly processes: readonly Process[]) {}

  /**
   * @param script its procedures are `P`
   * @param flags of Node, such as `--max-old-space-size=256`
   */
  static async start<P extends Procedures>(
    script: URL,
    count: number,
    flags: readonly string[] = [],
  ): Promise<Processes<P>> {
    const processes = Array.from({ length: count }, () => new Process(script, flags));
    try {
      await Promise.all(processes.map(({ ready }) => ready));
    } catch (error) {
      await Promise.all(processes.map((process) => process.stop()));
      throw error;
    }
    return new Processes(processes);
  }

  get count(): number {
    return this.processes.length;
  }

  /** Calls a procedure in every process at the same time. */
  all<N extends keyof P & string>(
    name: N,
    argument: (index: number) => Argument<P, N>,
  ): Promise<readonly Result<P, N>[]> {
    const calls = this.processes.map((process, index) => process.call(name, argument(index)));
    return Promise.all(calls) as Promise<Result<P, N>[]>;
  }

  /** Calls a procedure in one process. */
  one<N extends keyof P & string>(index: number, name: N, argument: Argument<P, N>): Promise<Result<P, N>> {
    return this.processes[index]!.call(name, argument) as Promise<Result<P, N>>;
  }

  /** Kills one process, whose calls fail. */
  async kill(index: number): Promise<void> {
    await this.processes[index]!.stop();
  }

  async stop(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.stop()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

class Process {
  readonly ready: Promise<unknown>;
  private readonly child: ChildProcess;
  private readonly callers = new Map<number, Caller>();
  private calls = 0;
  private output = '';
  private ended: Error | undefined;

  constructor(script: URL, flags: readonly string[]) {
    this.child = fork(fileURLToPath(script), {
      execArgv: [...flags, '--import', TYPESCRIPT, '--enable-source-maps'],
      serialization: 'advanced', // typed arrays and Infinity as they are
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.ready = this.expect(0);
    this.child.on('message', (message: Reply) => this.settle(message));
    this.child.once('error', (error) => this.end(error));
    this.child.once('close', (code, signal) =>
      this.end(new Error(`A process ended (${code ?? signal}):\n${this.output}`)),
    );
  }

  call(name: string, argument: unknown): Promise<unknown> {
    if (this.ended) return Promise.reject(this.ended);
    const id = ++this.calls;
    this.child.send({ id, name, argument } satisfies Call);
    return this.expect(id);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }

  private expect(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.callers.set(id, { resolve, reject }));
  }

  /** The first message of a process, which has no id, says that it is ready. */
  private settle({ id = 0, result, error }: Partial<Reply>): void {
    const caller = this.callers.get(id);
    this.callers.delete(id);
    if (error === undefined) caller?.resolve(result);
    else caller?.reject(new Error(`In a process: ${error}\n${this.output}`));
  }

  private end(error: Error): void {
    this.ended ??= error;
    for (const { reject } of this.callers.values()) reject(error);
    this.callers.clear();
  }
}
