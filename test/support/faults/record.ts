import { appendFileSync } from 'node:fs';

/** One fault's row in the table at the end of `npm run test:faults`. */
export interface FaultRow {
  readonly fault: string;
  readonly answers: number;
  /** The 99th percentile of the latency. In milliseconds, as the next two. */
  readonly p99Ms: number;
  readonly slowestMs: number;
  /** From the end of the fault until Redis decided again; undefined when Redis never stopped deciding. */
  readonly recoveryMs: number | undefined;
  /** Requests that were charged twice. */
  readonly doubles: number;
  /** Requests that passed beyond the stated bound. */
  readonly overAdmissions: number;
}

/** A test's measurements; times in milliseconds. */
export interface Outcome {
  /** The latency of each answer. */
  readonly answers: readonly number[];
  readonly recoveryMs?: number | undefined;
  readonly doubles: number;
  readonly overAdmissions: number;
}

/** Records a row for the table, if there is one. The test checks the values. */
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
