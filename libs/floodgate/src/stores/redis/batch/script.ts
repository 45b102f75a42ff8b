import type { Clock } from '../../store.js';
import type { Batch } from './batch.js';
import type { BatchCall } from './lane.js';
import type { Program } from './programs.js';
import type { ProgramRunner } from '../clients/client.js';
import { setImmediate } from '../../../util/real-timers.js';

export interface ScriptSettings {
  /** Undefined: Redis decides by its own clock. */
  readonly clock: Clock | undefined;
  /** Microseconds. */
  readonly maxSkew: number;
}

/** The Lua programs on a client. The headers of lua/program.lua and lua/lean.lua describe the wire. */
export class Script {
  private readonly clock: Clock | undefined;
  /** Microseconds. */
  private readonly maxSkew: number;

  constructor(
    private readonly runner: ProgramRunner,
    { clock, maxSkew }: ScriptSettings,
  ) {
    this.clock = clock;
    this.maxSkew = maxSkew;
  }

  /**
   * Runs a program once for a batch, and returns its checked reply.
   *
   * @param call undefined: nothing limits when it may be sent again
   * @throws {UnusableReplyError} when the reply is not the program's
   * @throws what the runner rejects with
   */
  async decide(batch: Batch, call?: BatchCall): Promise<readonly number[]> {
    const now = this.clock?.();
    const { program, keys, args } = batch.encode(now, this.maxSkew);
    const reply = await runProgram(this.runner, program, keys, args, call);
    batch.check(reply, now, this.maxSkew);
    return reply;
  }
}

/**
 * Runs a program: by its hash, and by its text where Redis has lost it. The call is sent again only then, because Redis has run
 * nothing. After any other error, sending again could charge twice.
 *
 * @param call undefined: nothing limits when it may be sent again
 * @throws {Error} what the runner rejects with, in words for an operator
 */
export async function runProgram(
  runner: ProgramRunner,
  { sha1, text }: Program,
  keys: number,
  args: readonly string[],
  call?: BatchCall,
): Promise<unknown> {
  try {
    const answer = runner.runByHash(sha1, keys, args);
    if (runner.writesLater && call !== undefined) onceWritten(call);
    return await answer;
  } catch (error) {
    const failure = runner.failureOf(error);
    if (!failure.message.startsWith('NOSCRIPT')) throw failure;
    if (call?.maySend() === false) throw failure;
  }
  try {
    const answer = runner.runByText(text, keys, args);
    if (runner.writesLater && call !== undefined) onceWritten(call);
    return await answer;
  } catch (error) {
    throw runner.failureOf(error);
  }
}

/** If a stall of the event loop used up the deadline before the client has written the call, Redis still gets a whole one. */
function onceWritten(call: BatchCall): void {
  // The client has asked for this check phase first.
  setImmediate(() => call.maySend());
}
