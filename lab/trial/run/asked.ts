/** A request that was asked. The instants are milliseconds of a clock that all processes share and nobody sets. */
export interface Asked {
  readonly process: string;
  readonly key: string;
  readonly cost: number;
  readonly sent: number;
  readonly answered: number;
  /** `none`: no answer came in time. */
  readonly answer: 'allowed' | 'rejected' | 'error' | 'none';
  readonly retryAfterMs?: number | undefined;
  readonly error?: string | undefined;
}

/** Requests that show a broken promise, and why. */
export interface Broken {
  readonly why: string;
  readonly history: readonly Asked[];
}

/** Milliseconds of the clock of `Asked`. */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The cost of the requests that were allowed. */
export function admitted(history: readonly Asked[]): number {
  return history.reduce((sum, { answer, cost }) => sum + (answer === 'allowed' ? cost : 0), 0);
}
