// The command lines of this repository. JavaScript, since `npm start` and the benches run without a loader of TypeScript.
import { parseArgs } from 'node:util';

/** A longer help would push its first lines, and what was typed, out of sight. */
const SHORT_LINES = 10;

export class UsageError extends Error {
  name = 'UsageError';
}

export function valuesOf(options, args = process.argv.slice(2)) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    // The sentences after the first are about positional arguments, which no command has.
    throw new UsageError(error.message.split('. ')[0]);
  }
}

export function optionsOf(usage, options = {}) {
  if (helps(usage)) process.exit(0);
  try {
    return valuesOf(options);
  } catch (error) {
    return exitWithUsage(usage, error.message);
  }
}

export async function runCommand(usage, run) {
  if (helps(usage)) return;
  try {
    process.exitCode = (await run()) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) exitWithUsage(usage, error.message);
    console.error(error);
    process.exitCode = 1;
  }
}

export function exitWithUsage(usage, message) {
  const [first, ...more] = usage.trim().split('\n');
  const shown = more.length < SHORT_LINES ? usage.trim() : `${first} (--help explains them)`;
  // The message comes last: a reader looks at the end.
  process.stderr.write(`${shown}\n\n${message}\n`);
  process.exit(2);
}

function helps(usage) {
  const asks = process.argv.slice(2).includes('--help');
  if (asks) process.stdout.write(`${usage.trim()}\n`);
  return asks;
}
