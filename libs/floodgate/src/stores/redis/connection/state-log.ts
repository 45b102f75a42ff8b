import type { Logger } from '../../../util/logger.js';
import { unheld } from '../../../util/runtime.js';

const INTERVAL_MS = 1000;

/**
 * Logs changes of availability, at most one line a second. Faster changes get one line at the end of the second: the last
 * state, and the number of changes without a line.
 */
export class StateLog {
  private loggedAt = -Infinity;
  private changes = 0;
  private write: ((more: string) => void) | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly logger: Pick<Logger, 'log' | 'warn'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  warn(message: string): void {
    this.line((more) => this.logger.warn(`${message}${more}`));
  }

  log(message: string): void {
    this.line((more) => this.logger.log(`${message}${more}`));
  }

  /** Writes the line that is still due. */
  close(): void {
    clearTimeout(this.timer);
    this.flush();
  }

  private line(write: (more: string) => void): void {
    this.write = write;
    this.changes++;
    if (this.timer !== undefined) return;
    const wait = this.loggedAt + INTERVAL_MS - this.now();
    if (wait <= 0) this.flush();
    else this.timer = unheld(setTimeout(() => this.flush(), wait));
  }

  private flush(): void {
    this.timer = undefined;
    const { write, changes } = this;
    if (write === undefined) return;
    this.write = undefined;
    this.changes = 0;
    this.loggedAt = this.now();
    write(changes > 1 ? ` (${changes - 1} more changes since the last line)` : '');
  }
}
