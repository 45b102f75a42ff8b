import type { Procedures } from '../../demo/processes/answer-calls.js';
import { Child } from '../../demo/processes/child.js';

const TYPESCRIPT = new URL('typescript-loader.js', import.meta.url);

type Argument<P extends Procedures, N extends keyof P> = Parameters<P[N]>[0];
type Result<P extends Procedures, N extends keyof P> = Awaited<ReturnType<P[N]>>;

/** Separate Node processes that run one TypeScript file each, which ends with `answerCalls(procedures)`. */
export class Processes<P extends Procedures> implements AsyncDisposable {
  private constructor(
    private readonly children: readonly Child<P>[],
    private readonly end: AbortController,
  ) {}

  /**
   * @param script its procedures are `P`
   * @param flags of Node that `NODE_OPTIONS` takes, such as `--max-old-space-size=256`
   */
  static async start<P extends Procedures>(script: URL, count: number, flags = ''): Promise<Processes<P>> {
    const end = new AbortController();
    const variables = {
      ...(process.env as Record<string, string>),
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} ${flags}`,
    };
    const options = { script, preload: TYPESCRIPT, variables, signal: end.signal };
    const starts = Array.from({ length: count }, (_, i) => Child.start<P>({ ...options, name: `Process ${i}` }));
    try {
      return new Processes(await Promise.all(starts), end);
    } catch (error) {
      end.abort();
      await Promise.allSettled(starts);
      throw error;
    }
  }

  /** Calls a procedure in every process at the same time. */
  all<N extends keyof P & string>(name: N, argument: (index: number) => Argument<P, N>): Promise<Result<P, N>[]> {
    return Promise.all(this.children.map((child, index) => child.call(name, argument(index))));
  }

  /** Calls a procedure in one process. */
  one<N extends keyof P & string>(index: number, name: N, argument: Argument<P, N>): Promise<Result<P, N>> {
    return this.children[index]!.call(name, argument);
  }

  /** Kills the processes, whose calls fail. */
  async stop(): Promise<void> {
    this.end.abort();
    await Promise.all(this.children.map((child) => child[Symbol.asyncDispose]()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
