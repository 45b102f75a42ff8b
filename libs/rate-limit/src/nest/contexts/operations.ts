import { RequestRecord } from '../../limiter/request-record.js';

/**
 * What one operation was charged, for all handlers that see it. Handlers of one operation run side by side, fields of a query
 * for example. Their decisions are taken one after another, so that each knows what the ones before it have charged.
 */
export class Operation {
  readonly record = new RequestRecord();
  private last: Promise<unknown> | undefined;

  /** Runs the work after all work before it, and passes its answer on. */
  async inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const before = this.last;
    const turn = before === undefined ? (async () => work())() : before.then(work);
    this.last = turn.then(ignore, ignore);
    return turn;
  }
}

/** The records of running operations. They live as long as the objects that stand for the operations. */
export class Operations {
  private readonly running = new WeakMap<object, Operation>();

  of(key: object): Operation {
    let operation = this.running.get(key);
    if (operation === undefined) this.running.set(key, (operation = new Operation()));
    return operation;
  }
}

function ignore(): void {}
