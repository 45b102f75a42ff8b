import type { OverrideLog } from '../../stores/override-log.js';
import type { ReportBoard } from '../../stores/report-board.js';
import { IdentitySecret } from './identity-secret.js';
import { SealedOverrideLog } from './sealed-override-log.js';
import { SealedReportBoard } from './sealed-report-board.js';

/** What keeps identities out of a store: out of its keys, its overrides with their notices, and the reports of processes. */
export interface Sealing {
  /** How keys begin, and digests of the identities behind it. */
  readonly keys: IdentitySecret;
  overrides(log: OverrideLog): OverrideLog;
  reports(board: ReportBoard): ReportBoard;
}

/**
 * @param secret the option `identitySecret`
 * @param prefix how keys begin
 */
export function sealingBy(secret: string | readonly [current: string, ...previous: string[]], prefix: string): Sealing {
  const keys = new IdentitySecret(secret, prefix);
  return {
    keys,
    overrides: (log) => new SealedOverrideLog(log, keys),
    reports: (board) => new SealedReportBoard(board, keys),
  };
}
