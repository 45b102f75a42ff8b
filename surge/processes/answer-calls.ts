/** What a process can be asked: functions of one argument. Arguments and results are copied. */
export type Procedures = Readonly<Record<string, (argument: never) => unknown>>;

export interface Call {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

export interface Reply {
  /** None in the first message, which says that the process is ready. */
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** Answers the calls of the process that started this one (`Child`), and ends with it. */
export function answerCalls(procedures: Procedures): void {
  process.once('disconnect', () => process.exit());
  // Ctrl-C in a terminal reaches all processes, but it is for the one whose end is that of the others.
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
