import { withinLoopTime } from '../loop-timer.js';
import { MissedAnswerError } from '../override-log.js';
import type { RateLimitStoreError } from '../store.js';
import type { Program } from './batch/programs.js';
import { runProgram } from './batch/script.js';
import type { ProgramRunner } from './clients/client.js';

/** Milliseconds that an answer may take: these calls are no decisions, which have a shorter deadline. */
const PATIENCE_MS = 2000;

/** What the calls of a log need of a store in Redis. */
export interface LogConnection {
  readonly client: ProgramRunner;
  /** Called when Redis does not answer a call in time. */
  missed?(key: string, error: RateLimitStoreError): void;
  /** Whether nothing is asked again. Default false. */
  readonly isClosed?: boolean;
}

/** Calls the program of a log, on the connection of the decisions. */
export class LogCalls {
  constructor(
    private readonly connection: LogConnection,
    private readonly program: Program,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  /**
   * Calls the program. A call that failed may have been carried out; only a script that Redis has lost is sent again.
   *
   * @param keys they share a slot
   */
  async run(keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const answer = runProgram(this.connection.client, this.program, keys.length, [...keys, ...args]);
    let late = true;
    const settled = answer.finally(() => (late = false));
    try {
      return await withinLoopTime(this.patienceMs, settled);
    } catch (error) {
      if (!late) throw error;
      const ignored = (): void => undefined; // it may still reject
      const text = `Redis did not answer within ${this.patienceMs} ms`;
      const missed = new MissedAnswerError(text, settled.then(ignored, ignored));
      this.connection.missed?.(keys[0]!, missed);
      throw missed;
    }
  }
}
