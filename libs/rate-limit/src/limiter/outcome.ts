/** How a request ended that a policy let pass. */
export interface Outcome {
  /** The status of the HTTP response; undefined where none was sent, and in contexts without one. */
  readonly status: number | undefined;
  /** What the handler threw. Known only where an interceptor looks: see `OutcomeBinder`. */
  readonly error: unknown;
  /** What the handler returned; of a stream the last value. Known as `error` is. */
  readonly value: unknown;
  /** Milliseconds from the decision to the end. */
  readonly durationMs: number;
  /** Whether the client left before the end. */
  readonly aborted: boolean;
}

/** What waits for the end of a request. */
export interface OutcomeListener {
  /** Called once the end is certain to be told: at once for HTTP, and elsewhere when the handler is called. */
  readonly began?: () => void;
  /** Called once. */
  readonly ended: (outcome: Outcome) => void;
}
