// Sends the requests of all riders, in a process of its own.
import {
  Crowd,
  type CrowdSnapshot,
  HttpSender,
  type Observation,
  Rider,
  type Route,
  ROUTES,
} from '../../riders/index.js';
import { answerCalls } from '../../processes/answer-calls.js';
import { ProcessMeter, type ProcessUse } from './process-meter.js';

export interface CrowdCall {
  readonly riders: number;
  readonly demand: number;
  readonly rush: number;
  readonly seed: number;
}

export interface OpenCall {
  readonly origins: readonly string[];
  /** How long a rider waits for an answer. */
  readonly patienceMs: number;
}

export interface BurstCall {
  readonly route: Route;
  readonly count: number;
}

/** An alias, since an interface has no index signature. */
export type GeneratorProcedures = {
  /** Sets the origins that get all further requests. */
  readonly open: (call: OpenCall) => void;
  readonly close: () => Promise<void>;
  /** Sends so many requests to every route of every process, so that V8 compiles the code before the measurement. */
  readonly warmUp: (times: number) => Promise<void>;
  readonly start: (call: CrowdCall) => void;
  readonly snapshot: () => CrowdSnapshot;
  /** Sends no further requests. @returns the use of this process since `start` */
  readonly stop: () => ProcessUse;
  /** Waits for all answers and returns them. */
  readonly answers: () => Promise<Observation[]>;
  /** Sends one rider's requests at once, to all processes in turn. */
  readonly burst: (call: BurstCall) => Promise<Observation[]>;
};

const BURST_PATIENCE_MS = 60_000;

const meter = new ProcessMeter();
let origins: readonly string[] = [];
let sender = new HttpSender(origins);
let observations: Observation[] = [];
let crowd: Crowd | undefined;
let stopping: Promise<void> | undefined;

answerCalls({
  open: ({ origins: opened, patienceMs }) => {
    origins = opened;
    sender = new HttpSender(origins, { patienceMs });
  },
  close: () => sender.close(),
  warmUp: async (times) => {
    for (let i = 0; i < times; i++) {
      const rider = new Rider(i, 1_000_000 + i); // not a rider of the crowd
      const asked = ROUTES.flatMap((route) => origins.map((_, pod) => sender.send({ ...rider.next(), route }, pod)));
      await Promise.all(asked);
    }
  },
  start: (call) => {
    observations = [];
    const onAnswer = (observation: Observation): unknown => observations.push(observation);
    crowd = new Crowd({ ...call, pods: origins.length, send: sender.send, onAnswer });
    meter.begin();
    crowd.start();
  },
  snapshot: () => crowd!.snapshot(),
  stop: () => {
    stopping = crowd!.stop();
    return meter.end();
  },
  answers: async () => {
    await stopping;
    return observations;
  },
  burst: ({ route, count }) => {
    const rider = new Rider(0, 2_000_000);
    // Whoever leaves does not learn whether the limit let them pass.
    const patient = new HttpSender(origins, { patienceMs: BURST_PATIENCE_MS });
    const since = performance.now();
    const now = (): number => performance.now() - since;
    const answers = Array.from({ length: count }, async (_, i): Promise<Observation> => {
      const pod = i % origins.length;
      const sentAt = now();
      const answer = await patient.send({ ...rider.next(), route }, pod);
      return { ...answer, route, rider: 0, attempt: 1, pod, dueAt: sentAt, sentAt, answeredAt: now() };
    });
    return Promise.all(answers).finally(() => patient.close());
  },
} satisfies GeneratorProcedures);
