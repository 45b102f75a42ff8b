import type { ReservationLog } from '../../stores/reservation-log.js';
import type { ChargeSettlement, SettledCharge } from '../../stores/receipt.js';
import { type Answer, attempt } from '../../util/answer.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import { RationedWarning } from '../../util/rationed-warning.js';
import { unheld } from '../../util/runtime.js';
import { reasonOf } from '../../util/thrown.js';
import { unawaited } from '../../util/unawaited.js';

/** Milliseconds between two sweeps, of which up to a quarter is left out at random: processes do not sweep together. */
const INTERVAL_MS = 4000;
const JITTER = 0.25;

/** Settles the reservations of processes that died, once they have expired. It begins with the first use, and keeps no process alive. */
export class ReservationSweep {
  private timer: NodeJS.Timeout | undefined;
  private isStarted = false;
  private isStopped = false;
  private underWay = Promise.resolve();
  /** The last problem that was logged. */
  private lastProblem = '';
  private readonly warning: RationedWarning;

  /** @param settle settles in the store */
  constructor(
    private readonly log: ReservationLog,
    private readonly settle: (
      settlements: readonly ChargeSettlement[],
    ) => Answer<readonly (SettledCharge | undefined)[]>,
    logger: Pick<Logger, 'warn'>,
    private readonly intervalMs = INTERVAL_MS,
  ) {
    this.warning = new RationedWarning(logger);
  }

  /** Sweeps now, and again and again. Only the first call does anything. */
  start(): void {
    if (this.isStarted || this.isStopped) return;
    this.isStarted = true;
    unawaited((this.underWay = this.run()));
  }

  /** Resolves when the sweep that is under way has ended. */
  stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    return this.underWay;
  }

  private async run(): Promise<void> {
    let more = false;
    try {
      more = await this.sweep();
      this.lastProblem = '';
    } catch (error) {
      this.warnOfProblem(error);
    }
    if (this.isStopped) return;
    const wait = more ? 0 : this.intervalMs * (1 - JITTER * Math.random());
    this.timer = unheld(setTimeout(() => unawaited((this.underWay = this.run())), wait));
  }

  /** Settles what is due. Returns whether there may be more. */
  async sweep(): Promise<boolean> {
    const { taken, more, malformed, error } = await this.log.takeDue();
    await Promise.all(taken.map(async (settlements) => this.settleOne(settlements)));
    if (malformed > 0)
      this.report(`${malformed} entries of the reservation log were dropped: another program wrote them`);
    if (error !== undefined) throw error;
    return more;
  }

  private async settleOne(settlements: readonly ChargeSettlement[]): Promise<void> {
    await attempt(
      () => this.settle(settlements),
      () => undefined,
      (error) => this.report(`An expired reservation stays charged: ${reasonOf(error)}`),
    );
  }

  /** Logs what Redis refuses, once. The store itself logs that Redis is unavailable. */
  private warnOfProblem(error: unknown): void {
    const problem = reasonOf(error);
    if (this.lastProblem === problem || (error as Error).name !== 'ReplyError') return;
    this.lastProblem = problem;
    this.report(`Expired reservations of other processes are not settled: ${problem}`);
  }

  private report(message: string): void {
    this.warning.warn(withHelp(message, 'FG_RESERVATION_LOG'));
  }
}
