import { asError, ConnectionError, isErrorReply } from './client-failure.js';

/**
 * Messages of ioredis about connections, and what they mean. The originals name ioredis options that Floodgate sets, which an
 * operator does not know. `isAbsent`: there is no connection. `wasNeverSent`: Redis has certainly not got the command.
 */
const TEXTS: readonly (readonly [text: RegExp, words: string, isAbsent: boolean, wasNeverSent?: true])[] = [
  [/^Stream isn't writeable/, 'there is no connection to Redis', true, true],
  // ioredis also says so of commands that were under way when the connection was closed for good.
  [/^Connection is closed/, 'the connection to Redis is closed', true],
  [
    /^(Reached the max retries per request|Command aborted due to connection close)/,
    'the connection to Redis was closed before the answer came',
    false,
  ],
  [/^Cluster isn't ready/, 'no node of the Redis Cluster is connected', false, true],
  [
    /^(None of startup nodes is|Cluster is |Node is disconnected|No master node is)/,
    'no node of the Redis Cluster is connected',
    false,
  ],
  [/^Failed to refresh slots cache/, 'no node of the Redis Cluster said which slots it has', false],
  [/^(Command timed out|Socket timeout)/, 'Redis did not answer within the time that the client gives it', false],
];

/** An error of ioredis in words for an operator, with ioredis's own as its cause. What Redis itself replies stays as it is. */
export function inOurWords(thrown: unknown): Error {
  const error = asError(thrown);
  const known = isErrorReply(error) ? undefined : TEXTS.find(([text]) => text.test(error.message));
  if (known === undefined) return error;
  const [, words, isAbsent, wasNeverSent] = known;
  // A Cluster's error stands for those of its nodes, of which it keeps the last one.
  const { lastNodeError } = error as { readonly lastNodeError?: unknown };
  const why = lastNodeError !== undefined ? `: ${inOurWords(lastNodeError).message}` : '';
  return new ConnectionError(`${words}${why}`, thrown, isAbsent, wasNeverSent);
}
