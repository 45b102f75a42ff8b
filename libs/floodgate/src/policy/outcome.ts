/** How a request ended that a policy let pass: what `countIf` and `settle` are called with. */
export interface Outcome {
  /** The status of the HTTP response; undefined where none was sent, and in contexts without one. */
  readonly status: number | undefined;
  /**
   * What the handler threw. It is known for policies of handlers; not for those of the module's `middleware`, nor over HTTP for a
   * policy that a function has made up.
   */
  readonly error: unknown;
  /** What the handler returned; of a stream the last value. It is known in the same cases as `error`. */
  readonly value: unknown;
  /** Milliseconds from the decision to the end. */
  readonly durationMs: number;
  /** Whether the client left before the end. */
  readonly aborted: boolean;
}
