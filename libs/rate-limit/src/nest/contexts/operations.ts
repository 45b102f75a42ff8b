import { RequestRecord } from '../../limiter/request-record.js';

/**
 * The records of running operations, for all handlers that see one: fields of a query run side by side, for example. They live as
 * long as the objects that stand for the operations.
 */
export class Operations {
  private readonly running = new WeakMap<object, RequestRecord>();

  of(key: object): RequestRecord {
    let record = this.running.get(key);
    if (record === undefined) this.running.set(key, (record = new RequestRecord(true)));
    return record;
  }
}
