import type { ProcessReport, ReportBoard } from '../../stores/report-board.js';
import type { IdentitySecret } from './identity-secret.js';

/** A board whose reports, which name rejected identities, are encrypted. */
export class SealedReportBoard implements ReportBoard {
  constructor(
    private readonly board: ReportBoard,
    private readonly secret: IdentitySecret,
  ) {}

  put({ id, text }: ProcessReport): Promise<boolean> {
    return this.board.put({ id, text: this.secret.encrypt(text) });
  }

  async all(): Promise<readonly ProcessReport[]> {
    const reports = await this.board.all();
    return reports.map(({ id, text }) => ({ id, text: this.secret.decrypt(text) }));
  }
}
