/** What a pod has decided for a request. */
export interface Outcome {
  readonly allowed: boolean;
  /** The instant of the decision by the clock that decided: whole microseconds since the simulation began. */
  readonly at: number;
  /** What decided, such as `'store'` or `'local'`. */
  readonly by: string;
}

/** Decides the requests of one pod. */
export interface Decider {
  /**
   * @param identity the tag of the client's identity
   * @param cost default 1
   */
  decide(identity: string, cost?: number): Outcome | Promise<Outcome>;
}
