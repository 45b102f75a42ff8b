import type { RateLimitStoreError } from '../stores/store.js';

/**
 * What a caller waits for as a whole, such as an operation of GraphQL: its mutations run one after the other. What missed a
 * deadline for one part is not waited for again, so that the whole is answered in about one deadline, however many parts it has.
 */
export class Execution {
  /** The store missed the deadline: it is not asked again. */
  missedDeadline: RateLimitStoreError | undefined;
  /** The functions of the application that missed theirs. Most executions have none. */
  private late: Set<object> | undefined;

  /** Notes that a function missed the deadline: what it returns is not waited for again. */
  noteLate(source: object): void {
    (this.late ??= new Set()).add(source);
  }

  isLate(source: object): boolean {
    return this.late?.has(source) === true;
  }
}

/** A context of a request that may be a part of an execution. */
export interface PartOfExecution {
  readonly execution?: Execution | undefined;
}
