import type { Deadlines, PendingDeadline } from '../../deadlines.js';
import type { Clock } from '../../store.js';
import type { Batch } from './batch.js';
import { evaluate } from './evaluate.js';
import type { ScriptCall } from './programs.js';
import type { ProgramRunner } from '../clients/client.js';

export interface ScriptSettings {
  /** Undefined: Redis decides by its own clock. */
  readonly clock: Clock | undefined;
  /** Microseconds. */
  readonly maxSkew: number;
  readonly deadlines: Deadlines | undefined;
}

/** The Lua programs on a client. The headers of lua/program.lua and lua/lean.lua describe the wire. */
export class Script {
  private readonly clock: Clock | undefined;
  /** Microseconds. */
  private readonly maxSkew: number;
  private readonly deadlines: Deadlines | undefined;

  constructor(
    private readonly runner: ProgramRunner,
    { clock, maxSkew, deadlines }: ScriptSettings,
  ) {
    this.clock = clock;
    this.maxSkew = maxSkew;
    this.deadlines = deadlines;
  }

  /**
   * Runs a program once for a batch, and returns its checked reply.
   *
   * @param deadline of the batch: once it has expired, nothing is sent again
   * @throws {UnusableReplyError} when the reply is not the program's
   * @throws what the runner rejects with
   */
  async decide(batch: Batch, deadline?: PendingDeadline): Promise<readonly number[]> {
    const now = this.clock?.();
    const reply = await this.run(batch.encode(now, this.maxSkew), deadline);
    batch.check(reply, now, this.maxSkew);
    return reply;
  }

  private run({ program, keys, args }: ScriptCall, deadline: PendingDeadline | undefined): Promise<unknown> {
    return evaluate(this.runner, program, keys, args, deadline, this.deadlines);
  }
}
