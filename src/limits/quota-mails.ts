import { Logger } from '@nestjs/common';
import type { ThresholdEvent } from 'nestjs-floodgate';

const logger = new Logger('QuotaMails');

/** Stands for a mail to a rider who has used up most of a quota, or all of it. */
export function mailQuota({ identity, policy, level, limit, resetAtMs }: ThresholdEvent): void {
  const until = new Date(resetAtMs).toISOString();
  logger.log(`To ${identity}: ${Math.round(level * 100)} % of your ${limit} ${policy} are used, until ${until}`);
}
