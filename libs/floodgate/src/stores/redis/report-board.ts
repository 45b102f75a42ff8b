import { shown } from '../../util/config-error.js';
import { withinLoopTime } from '../loop-timer.js';
import type { ProcessReport, ReportBoard } from '../report-board.js';
import { RateLimitStoreError } from '../store.js';
import { REPORTS } from './batch/programs.js';
import { runProgram } from './batch/script.js';
import type { ProgramRunner } from './clients/client.js';

/** The parts of the keys behind the hash tag, in the order of KEYS. */
const KEYS = ['texts', 'ends'];
/** Milliseconds that an answer may take: these calls are no decisions, which have a shorter deadline. */
const PATIENCE_MS = 2000;
/** Milliseconds that a report stays unless it is renewed. */
export const REPORT_TTL_MS = 60_000;
/** The most reports. With it, and the bound of a report, Redis keeps some megabytes at most. */
export const MAX_REPORTS = 1000;

/** Keeps reports in Redis. The header of lua/reports.lua describes the wire. */
export class RedisReportBoard implements ReportBoard {
  private readonly keys: readonly string[];

  /** @param keyOf the key with this last part; both share one slot */
  constructor(
    private readonly client: ProgramRunner,
    keyOf: (part: string) => string,
  ) {
    this.keys = KEYS.map((part) => keyOf(part));
  }

  async put({ id, text }: ProcessReport): Promise<boolean> {
    const [outcome] = await this.run('put', id, text, String(REPORT_TTL_MS), String(MAX_REPORTS));
    return outcome === 'put';
  }

  async all(): Promise<readonly ProcessReport[]> {
    const parts = await this.run('all');
    const reports: ProcessReport[] = [];
    for (let i = 0; i + 1 < parts.length; i += 2) reports.push({ id: parts[i]!, text: parts[i + 1]! });
    return reports;
  }

  private async run(...args: string[]): Promise<readonly string[]> {
    const { client, keys } = this;
    const reply = await withinLoopTime(PATIENCE_MS, runProgram(client, REPORTS, keys.length, [...keys, ...args]));
    if (Array.isArray(reply) && reply.every((part) => typeof part === 'string')) return reply;
    throw new RateLimitStoreError(`Redis answered ${shown(reply)} to a report, which this version cannot read`);
  }
}
