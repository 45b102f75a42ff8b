/** The functions that a process offers to its parent, each of one argument. Arguments and results are copied. */
export type Procedures = Readonly<Record<string, (argument: never) => unknown>>;

export interface Call {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

export interface Reply {
  /** Missing in the first message, which says that the process is ready. */
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** Answers the calls of the parent process (`Child`), and ends this process with its parent. */
export function answerCalls(procedures: Procedures): void {
  process.once('disconnect', () => process.exit());
  // Ctrl-C in a terminal reaches all processes. The parent ends the others.
  process.removeAllListeners('SIGINT').on('SIGINT', () => undefined);
  process.on('message', ({ id, name, argument }: Call) => {
    void answer(procedures[name], argument).then((reply) => process.send!({ id, ...reply } satisfies Reply));
  });
  process.send!({} satisfies Reply);
}

async function answer(procedure: Procedures[string] | undefined, argument: unknown): Promise<Reply> {
  try {
    return { result: await procedure!(argument as never) };
  } catch (error) {
    return { error: (error as Error).stack ?? String(error) };
  }
}
