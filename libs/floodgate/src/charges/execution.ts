import type { RateLimitStoreError } from '../stores/store.js';

/**
 * The unit that a caller waits for as a whole, such as a GraphQL operation whose mutations run one after the other. A store or
 * a function that missed its deadline in one part is not awaited again in the others. So the whole takes about one deadline,
 * however many parts it has.
 */
export class Execution {
  /** The store missed the deadline: it is not asked again. */
  missedDeadline: RateLimitStoreError | undefined;
  /** The application's functions that missed their deadline. Most executions have none. */
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
