import type { Call, Procedures, Reply } from './processes.js';

/** Answers the calls of the process that started this one, and ends with it. */
export function serve(procedures: Procedures): void {
  process.once('disconnect', () => process.exit());
  process.on('message', ({ id, name, argument }: Call) => {
    void answer(procedures[name], argument).then((reply) => process.send!({ id, ...reply }));
  });
  process.send!({ ready: true });
}

async function answer(procedure: Procedures[string] | undefined, argument: unknown): Promise<Omit<Reply, 'id'>> {
  try {
    return { result: await procedure!(argument as never) };
  } catch (error) {
    return { error: (error as Error).stack ?? String(error) };
  }
}
