/**
 * A request was not sent: its server asks to wait longer than `maxWait`, or too many calls wait before it. A call that was
 * answered before gets its last response instead of this error.
 */
export class RateLimitWaitError extends Error {
  override readonly name = 'RateLimitWaitError';

  /**
   * @param method in upper case
   * @param target the origin and the path; the query may hold secrets
   * @param retryAfterMs milliseconds after which requests leave again; 0 when they leave now, one after the other
   * @param maxWaitMs milliseconds of the option `maxWait`
   */
  constructor(
    readonly method: string,
    readonly target: string,
    readonly retryAfterMs: number,
    maxWaitMs: number,
  ) {
    super(
      retryAfterMs > 0
        ? `${method} ${target} was not sent: its rate limit lets it pass in ${Math.ceil(retryAfterMs)} ms. ` +
            `Call again then, or raise maxWait (${maxWaitMs} ms)`
        : `${method} ${target} was not sent: its turn did not come within maxWait (${maxWaitMs} ms). ` +
            'Send fewer requests at a time, or raise maxWait',
    );
  }
}
