import type { Deadlines, PendingDeadline } from '../../deadlines.js';
import type { Program } from './programs.js';
import type { ProgramRunner } from '../clients/client.js';

/**
 * Runs a program: by its hash, and by its text where Redis has lost it. The call is sent again only then, because Redis has run
 * nothing. After any other error, sending again could charge twice.
 *
 * @param deadline once it has expired, nothing is sent again: its requests have their answers, and a late charge would be for nothing
 * @throws {Error} what the runner rejects with, in words for an operator
 */
export async function evaluate(
  runner: ProgramRunner,
  { sha1, text }: Program,
  keys: number,
  args: readonly string[],
  deadline?: PendingDeadline,
  deadlines?: Deadlines,
): Promise<unknown> {
  try {
    return await runner.runByHash(sha1, keys, args);
  } catch (error) {
    const failure = runner.failureOf(error);
    if (!failure.message.startsWith('NOSCRIPT')) throw failure;
    if (deadline !== undefined && deadlines?.sendAgain(deadline) === false) throw failure;
  }
  try {
    return await runner.runByText(text, keys, args);
  } catch (error) {
    throw runner.failureOf(error);
  }
}
