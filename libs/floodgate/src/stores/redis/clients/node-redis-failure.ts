import { asError, ConnectionError, isErrorReply } from './client-failure.js';

/** What Redis replies begins with a code in capitals. The errors of node-redis and of Node do not. */
const REPLY = /^[A-Z][A-Z0-9_]+ /;
const CLOSED_BEFORE = 'the connection to Redis was closed before the answer came';

/** Messages of node-redis, and what they mean. `true`: nothing was sent. */
const TEXTS: readonly (readonly [text: RegExp, words: string, isAbsent: boolean])[] = [
  [/^The client is (closed|offline)/, 'there is no connection to Redis', true],
  [/^The queue is full/, 'the queue of the client is full (commandsQueueMaxLength)', true],
  [/^(Socket closed unexpectedly|Disconnects client)/, CLOSED_BEFORE, false],
  [/^(Connection|Socket|Command) timeout/, 'Redis did not answer within the time that the client gives it', false],
  [/^Unknown RESP type/, 'the server is no Redis: it answers in another protocol', false],
];

/**
 * An error of node-redis in words for an operator, with the original as its cause. What Redis replied keeps its message, and gets the
 * name by which `isErrorReply` finds it. The errors of Node, such as ECONNREFUSED, stay as they are.
 */
export function inOurWords(thrown: unknown): Error {
  const error = asError(thrown);
  if (error instanceof ConnectionError) return error;
  if (REPLY.test(error.message) && !('code' in error)) {
    return Object.assign(new Error(error.message, { cause: error }), { name: 'ReplyError' });
  }
  const known = TEXTS.find(([text]) => text.test(error.message));
  if (known !== undefined) return new ConnectionError(known[1], thrown, known[2], known[2]);
  // node-redis's timeout of a command has no message.
  return error.message === '' ? new ConnectionError(CLOSED_BEFORE, thrown, false) : error;
}

/** The error of a call: whatever Redis did not reply means that the answer is lost. */
export function failureOfCall(thrown: unknown): Error {
  const error = inOurWords(thrown);
  if (error instanceof ConnectionError || isErrorReply(error)) return error;
  return 'code' in error ? new ConnectionError(CLOSED_BEFORE, thrown, false) : error;
}
