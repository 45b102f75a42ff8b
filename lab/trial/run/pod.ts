import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../adapter.js';
import { type Asked, clock } from './asked.js';

export interface Request {
  readonly id: number;
  readonly key: string;
  readonly cost: number;
}

export type Reply = Omit<Asked, 'process' | 'key' | 'cost'> & { readonly id: number };

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const START_LIMIT_MS = 30_000;

/** One process of a limiter. */
export class Pod {
  private readonly waiting = new Map<number, (reply: Reply | undefined) => void>();
  private asked = 0;

  private constructor(
    private readonly name: string,
    private readonly child: ChildProcess,
    private readonly answerLimitMs: number,
    private readonly log: () => string,
  ) {
    child.on('message', (reply: Reply) => this.waiting.get(reply.id)?.(reply));
    child.once('exit', () => {
      for (const end of this.waiting.values()) end(undefined);
    });
  }

  /** @param options `ahead`: its clock is an hour ahead; `answerLimitMs`: how long a request waits for its answer */
  static async start(
    name: string,
    adapter: string,
    settings: Settings,
    options: { readonly ahead: boolean; readonly answerLimitMs: number },
  ): Promise<Pod> {
    const loaders = [...process.execArgv, ...(options.ahead ? ['--import', fileOf('hour-ahead.js')] : [])];
    const child = fork(fileOf('worker.ts'), [adapter, JSON.stringify(settings)], {
      execArgv: loaders,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    let text = '';
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => (text = (text + chunk).slice(-4_000)));
    }
    const ready = once(child, 'message', { signal: AbortSignal.timeout(START_LIMIT_MS) }).then(
      () => true,
      () => false,
    );
    const ended = once(child, 'exit').then(() => false);
    if (!(await Promise.race([ready, ended]))) throw new Error(`${adapter} did not open its limiter:\n${text}`);
    const pod = new Pod(name, child, options.answerLimitMs, () => text);
    // The first request of a process is slow: connections, and code that no request has run.
    await pod.ask(`warm-up-${name}`);
    return pod;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** What the process has printed last. */
  get output(): string {
    return this.log();
  }

  /** Sends requests of one key, all in one turn of the process's event loop, and resolves once each has its answer or none in time. */
  async ask(key: string, cost = 1, times = 1): Promise<Asked[]> {
    const requests = Array.from({ length: times }, () => ({ id: this.asked++, key, cost }));
    const answers = requests.map((request) => this.answerOf(request));
    if (!this.hasEnded) this.child.send(requests);
    return Promise.all(answers);
  }

  stop(): void {
    this.child.kill('SIGKILL');
  }

  private async answerOf({ id, key, cost }: Request): Promise<Asked> {
    const sent = clock();
    const reply = await new Promise<Reply | undefined>((resolve) => {
      const timeout = setTimeout(resolve, this.answerLimitMs, undefined);
      this.waiting.set(id, (answer) => {
        clearTimeout(timeout);
        resolve(answer);
      });
      if (this.hasEnded) this.waiting.get(id)!(undefined);
    });
    this.waiting.delete(id);
    const none = {
      sent,
      answered: clock(),
      answer: 'none' as const,
      error: this.hasEnded ? 'the process ended' : undefined,
    };
    const { id: _, ...answer } = reply ?? { id, ...none };
    return { process: this.name, key, cost, ...answer };
  }
}
