import type { FunctionKind } from '../watch/stats.js';
import { Deadlines } from '../stores/deadlines.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import type { PartOfExecution } from '../charges/execution.js';
import { type Answer, attempt } from '../util/answer.js';
import { adopted, isPromise } from '../util/is-promise.js';
import { RationedWarning } from '../util/rationed-warning.js';
import { alwaysReadable, readable, reasonOf } from '../util/thrown.js';

export type { FunctionKind } from '../watch/stats.js';

/** Counts failures of functions. */
export interface FunctionObserver {
  functionFailed(kind: FunctionKind): void;
}

/** A function of the application took longer than the deadline. */
export class FunctionTimeoutError extends Error {
  static {
    alwaysReadable(this);
  }
}

/**
 * Calls the functions that the application gives. A function that throws, rejects or misses the deadline must not cause an
 * outage: its caller continues without the answer, the failure is counted, and at most one warning a second is logged.
 */
export class UserFunctions {
  private readonly deadlines: Deadlines;
  private readonly warnings: RationedWarning;

  /** @param deadlineMs milliseconds that a function may take */
  constructor(
    deadlineMs: number,
    private readonly observer: FunctionObserver,
    logger: Pick<Logger, 'warn'>,
  ) {
    this.deadlines = new Deadlines(deadlineMs);
    this.warnings = new RationedWarning(logger);
  }

  /**
   * Calls a function, and returns its result, or that of `otherwise` if the function fails.
   *
   * @param warning begins the log line: `skipIf of policy 'daily' failed, the request is counted`
   * @param source the application's function
   * @param context of the request that it is called for
   */
  call<T>(
    kind: FunctionKind,
    warning: string,
    run: () => T | PromiseLike<T>,
    otherwise: () => T,
    source?: object,
    context?: object,
  ): Answer<T> {
    return attempt<T, T>(
      () => this.inTime(run(), source, context),
      itself,
      (error) => {
        this.failed(kind, warning, error);
        return otherwise();
      },
    );
  }

  /**
   * The answer, or a failure when it does not come within the deadline.
   *
   * @param source the function that was called. If it was late before in the same execution, it is not awaited again
   */
  within<T>(answer: PromiseLike<T>, source?: object, context?: PartOfExecution): Promise<T> {
    const execution = source === undefined ? undefined : context?.execution;
    if (execution?.isLate(source!) === true) return this.atOnce(answer);
    return this.deadlines.within(adopted(answer), undefined, () => {
      execution?.noteLate(source!);
      return new FunctionTimeoutError(`it did not settle within ${this.deadlines.ms} ms`);
    });
  }

  /** Calls a function, and returns its answer within the deadline. Rethrows what the function throws, as a readable error. */
  async answer<T>(run: () => T | PromiseLike<T>): Promise<T> {
    return attempt<T, T>(
      () => this.inTime(run()),
      itself,
      (error) => {
        throw readable(error);
      },
    );
  }

  private inTime<T>(returned: T | PromiseLike<T>, source?: object, context?: PartOfExecution): Answer<T> {
    return isPromise(returned) ? this.within(returned, source, context) : returned;
  }

  /**
   * Calls a guard method that a subclass overrides. If the method throws, the request is answered with its error. If it misses
   * the deadline, `otherwise` gives the answer.
   *
   * @param warning see `call`
   * @param deadlines how many deadlines it may take: each function that it calls has one of its own
   */
  async step<T>(
    kind: FunctionKind,
    warning: string,
    answer: PromiseLike<T>,
    otherwise: () => T | Promise<T>,
    deadlines = 1,
  ): Promise<T> {
    try {
      return await this.within(answer);
    } catch (error) {
      if (!isTimeout(error)) throw readable(error);
      if (deadlines > 1) return this.step(kind, warning, answer, otherwise, deadlines - 1);
      this.failed(kind, warning, error);
      return otherwise();
    }
  }

  private atOnce<T>(answer: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      adopted(answer).then(resolve, reject);
      const late = `it did not settle within ${this.deadlines.ms} ms for another field of the operation`;
      setImmediate(() => reject(new FunctionTimeoutError(late)));
    });
  }

  /** Counts a failure and warns of it. */
  failed(kind: FunctionKind, warning: string, error: unknown): void {
    this.observer.functionFailed(kind);
    this.warnings.warn(withHelp(`${warning}: ${reasonOf(error)}`, 'FG_FUNCTION_FAILED'));
  }
}

function itself<T>(value: T): T {
  return value;
}

/** `instanceof` throws for a proxy that was revoked. */
function isTimeout(error: unknown): boolean {
  try {
    return error instanceof FunctionTimeoutError;
  } catch {
    return false;
  }
}
