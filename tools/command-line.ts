import { parseArgs, type ParseArgsConfig } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** A wrong command line. The message is one line for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * The values of a command's options.
 *
 * @throws {UsageError} for an unknown option, and for an argument that is no option
 */
export function valuesOf<O extends Options>(
  args: readonly string[],
  options: O,
): ReturnType<typeof parseArgs<{ options: O }>>['values'] {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    // The sentences after the first are about positional arguments, which no command has.
    throw new UsageError((error as Error).message.split('. ')[0]);
  }
}

/** Runs a command, whose exit status `run` returns. After a wrong command line the usage is printed, and the status is 2. */
export async function runCommand(usage: string, run: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await run();
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const { message, stack = String(error), cause } = error as Error;
    console.error(isUsage ? `${message}\n\n${usage}` : stack);
    if (cause !== undefined) console.error('Caused by', cause);
    process.exitCode = isUsage ? 2 : 1;
  }
}
