// Measures a service from inside its process. Node loads it before the service's own entry point (`node --import`).
import { answerCalls } from '../../processes/answer-calls.js';
import { DecisionMeter } from './decision-meter.js';
import { PingMeter } from './ping-meter.js';
import { ProcessMeter, type ProcessUse } from './process-meter.js';

export interface ServiceUse extends ProcessUse {
  /** Durations of the decisions that the guard had to wait for, encoded for `allTimes`. */
  readonly decisions: string;
  /** Durations of a PING every 50 ms, encoded for `allTimes`; undefined without Redis. */
  readonly pings: string | undefined;
}

/** An alias, since an interface has no index signature. */
export type ProbeProcedures = {
  /** Starts a measurement. */
  readonly begin: () => void;
  /** Ends the measurement. */
  readonly end: () => ServiceUse;
};

const { REDIS_URL } = process.env;
const decisions = new DecisionMeter();
const meter = new ProcessMeter();
const pings = REDIS_URL === undefined ? undefined : new PingMeter(REDIS_URL);

answerCalls({
  begin: () => {
    decisions.reset();
    pings?.reset();
    meter.begin();
  },
  end: () => ({ ...meter.end(), decisions: decisions.encoded(), pings: pings?.encoded() }),
} satisfies ProbeProcedures);
