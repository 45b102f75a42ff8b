import { hash } from 'node:crypto';
import type { Deadlines, Question } from '../deadlines.js';
import type { ChargeSettlement, Clock, SettledCharge } from '../store.js';
import type { Batch } from './batch.js';
import { PROGRAM } from './program.generated.js';
import type { RedisClient } from './redis-client.js';
import { readSettled, settlementArguments } from './settlements.js';

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
      reply = await this.again(error as Error, keys.length, args, question);
    }
    batch.check(reply, now, this.maxSkew);
    return reply;
  }

  /**
   * Settles charges whose keys share a slot: all of them, or none. It is sent again only where Redis has run nothing.
   *
   * @param question as of `decide`
   * @throws {RateLimitStoreError} when a key cannot be read
   * @throws {UnusableReplyError} when the reply is not the program's
   * @throws what the client rejects with
   */
  async settle(settlements: readonly ChargeSettlement[], question?: Question): Promise<SettledCharge[]> {
    const keys = settlements.map(({ receipt }) => receipt.key);
    const now = this.clock?.();
    const args = [...keys, textOf(now), String(this.maxSkew), ...settlementArguments(settlements, now)];
    let reply: unknown;
    try {
      reply = await this.client.evalsha(SHA1, keys.length, ...args);
    } catch (error) {
      reply = await this.again(error as Error, keys.length, args, question);
    }
    return readSettled(settlements, reply, now);
  }

  /** Sends a call again that has failed, if Redis has run nothing. */
  private async again(error: Error, keys: number, args: readonly string[], question?: Question): Promise<unknown> {
    // Redis has lost the script (flush, restart, failover) and has run nothing. After any other error, sending again could
    // charge twice.
    if (!error.message.startsWith('NOSCRIPT')) throw error;
    // After the deadline the requests have their answers: a late charge would be for nothing.
    if (question !== undefined && this.deadlines?.sendAgain(question) === false) throw error;
    return await this.client.eval(PROGRAM, keys, ...args);
  }
}

/** ARGV[1]. */
function textOf(now: number | undefined): string {
  return now === undefined ? 'redis' : String(now);
}
