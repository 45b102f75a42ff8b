import { shown } from '../../../util/config-error.js';

/** The client has no connection, or lost it. */
export class ConnectionError extends Error {
  /**
   * @param isAbsent whether there is no connection to send anything on
   * @param wasNeverSent whether it is certain that Redis has not got the command
   */
  constructor(
    message: string,
    cause: unknown,
    readonly isAbsent: boolean,
    readonly wasNeverSent = false,
  ) {
    super(message, { cause });
  }
}

/** Whether an error means that there is no connection. */
export function isDisconnection(error: Error): boolean {
  return error instanceof ConnectionError && error.isAbsent;
}

/** Whether it is certain that Redis has not got the command. */
export function isUnsent(error: Error): boolean {
  return error instanceof ConnectionError && error.wasNeverSent;
}

/** Whether Redis replied an error: an adapter gives it this name, and the message that Redis sent. */
export function isErrorReply({ name }: Error): boolean {
  return name === 'ReplyError';
}

/** What was thrown, as an error. Recognises errors also from another V8 context, for which `instanceof` is false. */
export function asError(thrown: unknown): Error {
  const isError = typeof (thrown as Partial<Error> | null | undefined)?.message === 'string';
  return isError ? (thrown as Error) : new Error(shown(thrown));
}

/** Replies of a Redis that has run nothing of a program. It refuses a program's first write, or none: the programs write all or nothing. */
const NOT_RUN =
  /^(NOSCRIPT|LOADING|BUSY|CLUSTERDOWN|MASTERDOWN|READONLY|OOM|MISCONF|NOREPLICAS|NOAUTH|TRYAGAIN|MOVED|ASK)\b/;

/** Whether Redis has certainly run nothing: it may be asked again. */
export function isNotRun(error: Error): boolean {
  return isErrorReply(error) ? NOT_RUN.test(error.message) : isUnsent(error);
}
