import { appendFileSync } from 'node:fs';

/** What a fault did, as the table at the end of `npm run test:faults` shows it. */
export interface FaultRow {
  readonly fault: string;
  readonly answers: number;
  /** Milliseconds. */
  readonly slowestMs: number;
  /** Milliseconds from the end of the fault until Redis decided again; undefined where it never stopped. */
  readonly recoveryMs: number | undefined;
  /** Requests that were charged twice. */
  readonly doubles: number;
  /** Requests that passed beyond the stated bound. */
  readonly overAdmissions: number;
}

/** Notes a row for the table, if there is one; the tests themselves have checked it. */
export function record(
  fault: string,
  {
    answers,
    recoveryMs,
    doubles = 0,
    overAdmissions = 0,
  }: { answers: readonly number[]; recoveryMs?: number; doubles?: number; overAdmissions?: number },
): void {
  const { FAULTS_FILE } = process.env;
  if (FAULTS_FILE === undefined) return;
  const row: FaultRow = {
    fault,
    answers: answers.length,
    slowestMs: Math.max(...answers),
    recoveryMs,
    doubles,
    overAdmissions,
  };
  appendFileSync(FAULTS_FILE, `${JSON.stringify(row)}\n`);
}
