import type { Deadlines, Question } from '../deadlines.js';
import type { Batch } from './batch.js';
import { PROGRAM, ROWS_PROGRAMS } from './node-program.generated.js';
import { programOf, type Program, type ScriptCall } from './programs.js';
import type { ClusterNodeConnection } from './redis-client.js';
import type { ScriptSettings } from './script.js';

const NODE_PROGRAM = programOf(PROGRAM);
/** lua/node/rows.lua, by algorithm. */
export const ROW_PROGRAMS: ReadonlyMap<string, Program> = new Map(
  Object.entries(ROWS_PROGRAMS).map(([name, text]) => [name, programOf(text)]),
);

/** Replies to a call that has run nothing: the node lacks the declared key's slot, or its server forbids undeclared keys. */
const NOT_RUN = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|UNDECLARED) /;

/** A node has run nothing of a batch, and all its requests can be asked by slot. */
export class NotRunError extends Error {
  /** @param forbidden whether the server lets no script read a key that was not declared */
  constructor(
    reason: string,
    readonly forbidden: boolean,
  ) {
    super(reason);
  }
}

/**
 * The Lua program that decides a batch of keys in any slots of one node: the header of lua/node/arguments.lua describes the wire.
 * One row of one charge goes by the lean program, and rows of one policy by lua/node/rows.lua.
 *
 * It is sent on the node's own connection and never redirected: behind a redirection, the other keys would be read on a node
 * that does not have them yet, while the old node still holds their state.
 */
export class NodeScript {
  private readonly deadlines: Deadlines | undefined;

  /** @param keyPrefix what the Cluster client puts before every key */
  constructor(
    private readonly keyPrefix: string,
    private readonly settings: ScriptSettings,
  ) {
    this.deadlines = settings.deadlines;
  }

  /**
   * Runs the program once for a batch, and returns its checked reply. The requests that it leaves undecided are `ELSEWHERE`.
   *
   * @param question as of `Script.decide`
   * @throws {NotRunError} when nothing was run
   * @throws {UnusableReplyError} when the reply is not the program's
   * @throws what the connection rejects with
   */
  async decide(batch: Batch, connection: ClusterNodeConnection, question?: Question): Promise<readonly number[]> {
    const { clock, maxSkew } = this.settings;
    const now = clock?.();
    const call =
      batch.encodeLean(now, maxSkew) ??
      (now === undefined ? batch.encodeAlike(ROW_PROGRAMS) : undefined) ??
      ({ ...batch.encodeRows(now, maxSkew), program: NODE_PROGRAM } satisfies ScriptCall);
    let reply: unknown;
    try {
      reply = await this.run(connection, call, question);
    } catch (error) {
      const { message } = error as Error;
      if (NOT_RUN.test(message)) throw new NotRunError(message, message.startsWith('UNDECLARED'));
      throw error;
    }
    batch.check(reply, now, maxSkew, true);
    return reply;
  }

  /** Sends a call a second time only after NOSCRIPT, as `Script` does. */
  private async run(
    connection: ClusterNodeConnection,
    call: ScriptCall,
    question: Question | undefined,
  ): Promise<unknown> {
    const { program } = call;
    const args = this.prefixed(call, connection);
    try {
      return await connection.evalsha(program.sha1, 1, ...args);
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      if (question !== undefined && this.deadlines?.sendAgain(question) === false) throw error;
      return await connection.eval(program.text, 1, ...args);
    }
  }

  /** The client prefixes declared keys alone, and only where its connections to the nodes know the prefix. */
  private prefixed({ keys, args }: ScriptCall, { options }: ClusterNodeConnection): readonly string[] {
    const { keyPrefix } = this;
    if (keyPrefix === '') return args;
    const isDeclaredPrefixed = Boolean(options.keyPrefix);
    return args.map((arg, i) => (i >= keys || (i === 0 && isDeclaredPrefixed) ? arg : `${keyPrefix}${arg}`));
  }
}
