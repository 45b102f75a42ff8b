import type { parseArgs, ParseArgsConfig } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** A wrong command line. The message is one line for the user. */
export class UsageError extends Error {}

/**
 * The values of a command's options.
 *
 * @param args default: those of this process
 * @throws {UsageError} for an unknown option, and for an argument that is no option
 */
export function valuesOf<O extends Options>(
  options: O,
  args?: readonly string[],
): ReturnType<typeof parseArgs<{ options: O }>>['values'];

/**
 * The values of a script's options, by default of none. `--help` prints the usage and ends the process, and so does a wrong command line.
 *
 * @param usage its first line is the command with its options, such as `npm run trial -- [options]`
 */
export function optionsOf<O extends Options>(
  usage: string,
  options?: O,
): ReturnType<typeof parseArgs<{ options: O }>>['values'];

/**
 * Runs a command, whose exit status `run` returns: without one it is 0. `--help` prints the usage. A `UsageError` ends the process as
 * `exitWithUsage` does.
 *
 * @param usage as for `optionsOf`
 */
export function runCommand(usage: string, run: () => Promise<number | void>): Promise<void>;

/** Prints the usage, of a long one the first line alone, and the message below it. Ends the process with the status 2. */
export function exitWithUsage(usage: string, message: string): never;
