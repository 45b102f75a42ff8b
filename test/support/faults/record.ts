import { appendFileSync } from 'node:fs';

/** What a fault did, as the table at the end of `npm run test:faults` shows it. */
export interface FaultRow {
  readonly fault: string;
  readonly answers: number;
  /** Milliseconds, as the next two: 99 of 100 answers took no longer. */
  readonly p99Ms: number;
  readonly slowestMs: number;
  /** From the end of the fault until Redis decided again; undefined where it never stopped. */
  readonly recoveryMs: number | undefined;
  /** Requests that were charged twice. */
  readonly doubles: number;
  /** Requests that passed beyond the stated bound. */
  readonly overAdmissions: number;
}

/** What a test has seen; times in milliseconds. */
export interface Outcome {
  /** How long each answer took. */
  readonly answers: readonly number[];
  readonly recoveryMs?: number | undefined;
  readonly doubles: number;
  readonly overAdmissions: number;
}

/** Notes a row for the table, if there is one. What must hold of it is the test's to check. */
export function record(fault: string, { answers, recoveryMs, doubles, overAdmissions }: Outcome): void {
  const { FAULTS_FILE } = process.env;
  if (FAULTS_FILE === undefined) return;
  const sorted = answers.toSorted((a, b) => a - b);
  const row: FaultRow = {
    fault,
    answers: answers.length,
    p99Ms: sorted[Math.ceil(0.99 * sorted.length) - 1] ?? 0,
    slowestMs: sorted.at(-1) ?? 0,
    recoveryMs,
    doubles,
    overAdmissions,
  };
  appendFileSync(FAULTS_FILE, `${JSON.stringify(row)}\n`);
}
