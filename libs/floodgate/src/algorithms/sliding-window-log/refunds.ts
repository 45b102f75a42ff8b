import type { Log, LogLevel } from './sliding-window-log.js';
import { upTo } from '../core/up-to.js';
import type { ChargeMark, Refunds } from '../core/refunds.js';

export class SlidingWindowLogRefunds implements Refunds<LogLevel, Log> {
  readonly unit = 1;

  /** @param window microseconds */
  constructor(private readonly window: number) {}

  /** Removes as many entries of the charge's instant as the charge added. Those that have expired give nothing back. */
  refund(log: Log, now: number, cost: number, { resetAt }: ChargeMark): number {
    if (resetAt <= now) return 0;
    const { instants } = log;
    const instant = resetAt - this.window;
    const end = upTo(instants, instant, log.first);
    const count = Math.min(cost, end - upTo(instants, instant - 1, log.first));
    if (count > 0) instants.splice(end - count, count);
    if (instants.length === log.first) instants.length = log.first = 0; // only expired ones are left
    return Math.max(0, count);
  }

  /** Only what `fits` reads: which of the instants stay is not known here. */
  without(level: LogLevel, charges: readonly ChargeMark[], now: number): LogLevel {
    let { used } = level;
    for (const { cost, resetAt } of charges) if (resetAt > now) used -= cost;
    return { ...level, used: Math.max(0, used) };
  }
}
