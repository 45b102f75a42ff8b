import { randomUUID } from 'node:crypto';
import type { ReportBoard } from '../../stores/report-board.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import { unheld } from '../../util/runtime.js';
import { reasonOf } from '../../util/thrown.js';
import type { RejectedIdentity, TopRejected } from './top-rejected.js';
import { type RejectedIdentities, TOP } from './rejected-identities.js';
import { merged } from './space-saving.js';
import { unawaited } from '../../util/unawaited.js';

/** Milliseconds between two reports of a process. */
const INTERVAL_MS = 10_000;
/** Identities in a report: more than in an answer, because the busiest of all processes may be rejected little in each. */
const REPORTED = 40;

/** The identities that all processes have rejected most often. */
export interface FleetTopRejected extends TopRejected {
  /** The processes that have reported in the last minute, and this one. */
  readonly processes: number;
  /** False if the reports of the other processes could not be read: the counts are those of this process. */
  readonly isComplete: boolean;
}

/**
 * Shares the identities that this process rejects with the others, every 10 seconds while there are some, and adds up those of all
 * processes. It does not keep the process alive.
 */
export class SharedRejections {
  private timer: NodeJS.Timeout | undefined;
  private isSharing = false;
  /** Whether the board holds identities of this process. */
  private hasShared = false;
  /** The last problem that was logged. */
  private lastWarning = '';

  /**
   * @param board undefined: processes cannot see each other
   * @param id of this process, among all
   */
  constructor(
    private readonly rejected: RejectedIdentities,
    private readonly board: ReportBoard | undefined,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly id: string = randomUUID(),
  ) {}

  start(): void {
    if (this.board !== undefined) this.timer ??= unheld(setInterval(() => unawaited(this.share()), INTERVAL_MS));
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Reports what this process has rejected. Never rejects. */
  async share(): Promise<void> {
    const { board, id } = this;
    if (board === undefined || this.isSharing) return;
    const top = this.rejected.top(REPORTED);
    const isEmpty = top.identities.length === 0;
    if (isEmpty && !this.hasShared) return;
    this.isSharing = true;
    try {
      const put = await board.put({ id, text: JSON.stringify(top) });
      this.hasShared = !isEmpty;
      if (put) this.lastWarning = '';
      else this.sayProblem('there are too many processes');
    } catch (error) {
      this.sayProblem(reasonOf(error));
    } finally {
      this.isSharing = false;
    }
  }

  /** Adds up what all processes have rejected. Without the others it answers with what this process has. Never rejects. */
  async fleet(): Promise<FleetTopRejected> {
    const { board, id } = this;
    const own = this.rejected.top(REPORTED);
    let others: TopRejected[] = [];
    let isComplete = true;
    try {
      const reports = (await board?.all()) ?? [];
      others = reports.flatMap((report) => (report.id === id ? [] : (readReport(report.text) ?? [])));
    } catch (error) {
      isComplete = false;
      this.sayProblem(reasonOf(error));
    }
    const all = [own, ...others];
    return { processes: all.length, isComplete, ...merged(all, TOP) };
  }

  /** Logs a problem once, until another one or a success. */
  private sayProblem(problem: string): void {
    if (this.lastWarning === problem) return;
    this.lastWarning = problem;
    this.logger.warn(
      withHelp(`The rejected identities of the processes are not added up: ${problem}`, 'FG_STORE_UNAVAILABLE'),
    );
  }
}

/** Reads a report, which may be of another version. Undefined for one that cannot be read. */
function readReport(text: string): TopRejected | undefined {
  let report: Partial<TopRejected> | null;
  try {
    report = JSON.parse(text) as Partial<TopRejected> | null;
  } catch {
    return undefined;
  }
  if (typeof report !== 'object' || report === null) return undefined;
  const { identities, othersAtMost } = report;
  if (!isAmount(othersAtMost) || !Array.isArray(identities)) return undefined;
  return identities.length <= REPORTED && identities.every(isRejected) ? { identities, othersAtMost } : undefined;
}

function isRejected(value: unknown): value is RejectedIdentity {
  if (typeof value !== 'object' || value === null) return false;
  const { identity, policy, atLeast, atMost } = value as Partial<RejectedIdentity>;
  return typeof identity === 'string' && typeof policy === 'string' && isAmount(atLeast) && isAmount(atMost);
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
