import { describe, expect, it } from '@jest/globals';
import { ConnectionError, isDisconnection, isErrorReply } from './client-failure.js';
import { failureOfCall, inOurWords } from './node-redis-failure.js';

describe('an error of node-redis', () => {
  it.each([
    ['The client is closed', 'there is no connection to Redis', true],
    ['The queue is full', 'the queue of the client is full (commandsQueueMaxLength)', true],
    ['Socket closed unexpectedly', 'the connection to Redis was closed before the answer came', false],
    ['Unknown RESP type 72 "H"', 'the server is no Redis: it answers in another protocol', false],
  ])('%j is, in our words, %j', (message, words, isAbsent) => {
    const thrown = new Error(message);
    const error = inOurWords(thrown);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ message: words, cause: thrown });
    expect(isDisconnection(error)).toBe(isAbsent);
    expect(inOurWords(error)).toBe(error);
  });

  it.each(['NOSCRIPT No matching script', 'ERR unknown command', 'MOVED 1 127.0.0.1:1', 'READONLY replica'])(
    'is the reply %j, with its message',
    (message) => {
      const error = failureOfCall(new Error(message));
      expect(error.message).toBe(message);
      expect(isErrorReply(error)).toBe(true);
    },
  );

  it('is that of Node when a connection fails, and a lost answer when a call does', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
    expect(inOurWords(refused)).toBe(refused);
    expect(failureOfCall(refused)).toMatchObject({
      message: 'the connection to Redis was closed before the answer came',
      cause: refused,
    });
    expect(failureOfCall(undefined)).toBeInstanceOf(Error);
  });
});
