import type { Logger } from './logger.js';

const INTERVAL_MS = 1000;

/** Logs at most one warning a second. The next one says how many were left out. */
export class RationedWarning {
  private warnedAt = -Infinity;
  private silenced = 0;

  constructor(
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  warn(message: string): void {
    const now = this.now();
    if (now - this.warnedAt < INTERVAL_MS) {
      this.silenced++;
      return;
    }
    const more = this.silenced > 0 ? ` (${this.silenced} more since the last warning)` : '';
    this.logger.warn(`${message}${more}`);
    this.warnedAt = now;
    this.silenced = 0;
  }
}
