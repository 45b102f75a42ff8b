import { Execution, RequestRecord } from 'floodgate/internal-boot';

/**
 * The records of running operations, shared by all handlers of an operation: fields of a query run in parallel, for example.
 * They live as long as the objects that identify the operations.
 */
export class Operations {
  private readonly running = new WeakMap<object, RequestRecord>();
  private readonly executions = new WeakMap<object, Execution>();

  /**
   * The record of a call; undefined for a call that is an operation of its own and no part of an execution.
   *
   * @param key identifies the operation; undefined if each call is one
   * @param whole identifies the execution that the operation is a part of; undefined if there is none
   */
  of(key: object | undefined, whole: object | undefined): RequestRecord | undefined {
    if (key === undefined) return whole === undefined ? undefined : new RequestRecord(false, this.execution(whole));
    let record = this.running.get(key);
    if (record === undefined) {
      this.running.set(key, (record = new RequestRecord(true, whole && this.execution(whole))));
    }
    return record;
  }

  private execution(whole: object): Execution {
    let execution = this.executions.get(whole);
    if (execution === undefined) this.executions.set(whole, (execution = new Execution()));
    return execution;
  }
}
