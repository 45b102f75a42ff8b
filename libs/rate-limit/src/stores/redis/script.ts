import { hash } from 'node:crypto';
import type { Deadlines, Question } from '../deadlines.js';
import type { Clock } from '../store.js';
import type { Batch } from './batch.js';
import { PROGRAM } from './program.generated.js';
import type { RedisClient } from './redis-client.js';

const SHA1 = hash('sha1', PROGRAM);

export interface ScriptSettings {
  /** Undefined: Redis decides by its own clock. */
  readonly clock: Clock | undefined;
  /** Microseconds. */
  readonly maxSkew: number;
  readonly deadlines: Deadlines | undefined;
}

/** The Lua program on a client. The header of lua/program.lua describes the wire. */
export class Script {
  private readonly clock: Clock | undefined;
  /** Microseconds. */
  private readonly maxSkew: number;
  private readonly deadlines: Deadlines | undefined;

  constructor(
    private readonly client: RedisClient,
    { clock, maxSkew, deadlines }: ScriptSettings,
  ) {
    this.clock = clock;
    this.maxSkew = maxSkew;
    this.deadlines = deadlines;
  }

  /**
   * Runs the program once for a batch, and returns its checked reply.
   *
   * @param question the batch's question to `Deadlines`: once it has expired, nothing is sent again
   * @throws {UnusableReplyError} when the reply is not the program's
   * @throws what the client rejects with
   */
  async decide(batch: Batch, question?: Question): Promise<readonly number[]> {
    const keys = batch.encodeKeys();
    const now = this.clock?.();
    const args = [...keys, textOf(now), String(this.maxSkew), ...batch.encodeArguments(now)];
    let reply: unknown;
    try {
      reply = await this.client.evalsha(SHA1, keys.length, ...args);
    } catch (error) {
      // Redis has lost the script (flush, restart, failover) and has run nothing. After any other error, sending again could
      // charge twice.
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
      // After the deadline the requests have their answers: a late charge would be for nothing.
      if (question !== undefined && this.deadlines?.sendAgain(question) === false) throw error;
      reply = await this.client.eval(PROGRAM, keys.length, ...args);
    }
    batch.check(reply, now, this.maxSkew);
    return reply;
  }

  /**
   * Refunds one charge. Sent once and never again: a lost refund stays charged.
   *
   * @param policy ARGV[3]: the charge's policy
   * @param taken ARGV[5]: the instants of the charge
   */
  async refund(key: string, policy: string, taken: string): Promise<void> {
    await this.client.evalsha(SHA1, 1, key, textOf(this.clock?.()), String(this.maxSkew), policy, '', taken);
  }
}

/** ARGV[1]. */
function textOf(now: number | undefined): string {
  return now === undefined ? 'redis' : String(now);
}
