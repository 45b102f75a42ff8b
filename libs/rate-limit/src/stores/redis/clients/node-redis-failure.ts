import { shown } from '../../../util/config-error.js';
import { ConnectionError } from './client-failure.js';

/** What Redis replies begins with a code in capitals. The errors of node-redis and of Node do not. */
const REPLY = /^[A-Z][A-Z0-9_]+ /;
const CLOSED_BEFORE = 'the connection to Redis was closed before the answer came';

/** Messages of node-redis, and what they mean. `true`: nothing was sent. */
const TEXTS: readonly (readonly [text: RegExp, words: string, isAbsent: boolean])[] = [
  // The second one is that of a createSentinel that nobody has connected.
  [/^The client is (closed|offline)|reading 'isReady'/, 'there is no connection to Redis', true],
  [/^Cluster closed/, 'the connection to Redis is closed', true],
  [/^The queue is full/, 'the queue of the client is full (commandsQueueMaxLength)', true],
  [/^(Socket closed unexpectedly|Disconnects client)/, CLOSED_BEFORE, false],
  [/^(Connection|Socket|Command) timeout/, 'Redis did not answer within the time that the client gives it', false],
  [/^All the root nodes are unavailable/, 'no node of the Redis Cluster is connected', false],
  [/^Unknown RESP type/, 'the server is no Redis: it answers in another protocol', false],
  [/reading 'master'/, 'no node of the Redis Cluster has the slot of the key', true],
  [/^(Too many|Cannot find node)/, 'the nodes of the Redis Cluster redirect the call without end', false],
  [/^(None of the sentinels|no valid master|unable to connect)/i, 'no Sentinel names a master of Redis', false],
];

/**
 * An error of node-redis in words for an operator, with the original as its cause. What Redis replied keeps its message, and gets the
 * name by which `isErrorReply` finds it. The errors of Node, such as ECONNREFUSED, stay as they are.
 */
export function inOurWords(thrown: unknown): Error {
  const error = isError(thrown) ? thrown : new Error(shown(thrown));
  if (error instanceof ConnectionError) return error;
  if (REPLY.test(error.message) && !('code' in error)) {
    return Object.assign(new Error(error.message, { cause: error }), { name: 'ReplyError' });
  }
  const known = TEXTS.find(([text]) => text.test(error.message));
  if (known !== undefined) return new ConnectionError(known[1], thrown, known[2]);
  // Its timeout of a command has no message.
  return error.message === '' ? new ConnectionError(CLOSED_BEFORE, thrown, false) : error;
}

/** The error of a call: whatever Redis did not reply means that the answer is lost. */
export function failureOfCall(thrown: unknown): Error {
  const error = inOurWords(thrown);
  if (error instanceof ConnectionError || error.name === 'ReplyError') return error;
  return 'code' in error ? new ConnectionError(CLOSED_BEFORE, thrown, false) : error;
}

/** Recognises errors, also those from another V8 context, for which `instanceof` is false. */
function isError(thrown: unknown): thrown is Error {
  return typeof (thrown as Partial<Error> | null | undefined)?.message === 'string';
}
