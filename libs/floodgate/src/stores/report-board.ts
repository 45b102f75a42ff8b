/** What a process last reported. */
export interface ProcessReport {
  /** The process. */
  readonly id: string;
  readonly text: string;
}

/** Keeps the last report of each process for all of them, as long as the process renews it. */
export interface ReportBoard {
  /**
   * Writes the report of a process.
   *
   * @returns false if there are too many reports of other processes
   */
  put(report: ProcessReport): Promise<boolean>;
  /** The reports of all processes. */
  all(): Promise<readonly ProcessReport[]>;
}
