import type { Batch } from '../batch/batch.js';
import type { BatchCall } from '../batch/lane.js';
import { NotRunError } from '../batch/not-run-error.js';
import type { ScriptCall } from '../batch/programs.js';
import type { ProgramRunner } from '../clients/client.js';
import { runProgram, type ScriptSettings } from '../batch/script.js';

/** Replies to a call that has run nothing: the node lacks the declared key's slot, or its server forbids undeclared keys. */
const NOT_RUN = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|UNDECLARED) /;

/**
 * The Lua programs for a batch of keys in any slots of one node: lua/keys.lua describes how the wire differs.
 *
 * The call is sent on the node's own connection and never redirected: behind a redirection, the other keys would be read on a
 * node that does not have them yet, while the old node still holds their state.
 */
export class NodeScript {
  /** @param keyPrefix what the Cluster client puts before every key */
  constructor(
    private readonly keyPrefix: string,
    private readonly settings: ScriptSettings,
  ) {}

  /**
   * Runs the program once for a batch, and returns its checked reply. The requests that it leaves undecided are `ELSEWHERE`.
   *
   * @param call undefined: nothing limits when it may be sent again
   * @throws {NotRunError} when nothing was run
   * @throws {UnusableReplyError} when the reply is not the program's
   * @throws what the connection rejects with
   */
  async decide(batch: Batch, connection: ProgramRunner, call?: BatchCall): Promise<readonly number[]> {
    const { clock, maxSkew } = this.settings;
    const now = clock?.();
    const encoded = batch.encode(now, maxSkew);
    let reply: unknown;
    try {
      const args = this.argumentsOf(encoded, connection);
      reply = await runProgram(connection, encoded.program, 1, args, call);
    } catch (error) {
      const { message } = error as Error;
      if (NOT_RUN.test(message)) throw new NotRunError(message, message.startsWith('UNDECLARED'));
      throw error;
    }
    batch.check(reply, now, maxSkew, true);
    return reply;
  }

  /**
   * The first key, which is declared, the program's arguments, and the other keys. The client prefixes declared keys alone, and
   * only where its connections to the nodes know the prefix.
   */
  private argumentsOf({ keys, args }: ScriptCall, connection: ProgramRunner): readonly string[] {
    const { keyPrefix } = this;
    if (keyPrefix === '' && keys === 1) return args;
    const declared = connection.keyPrefix === '' ? `${keyPrefix}${args[0]!}` : args[0]!;
    const others = args.slice(1, keys).map((key) => `${keyPrefix}${key}`);
    return [declared, ...args.slice(keys), ...others];
  }
}
