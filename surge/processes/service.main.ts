// A process of the surge that runs one service after the other: the application, or matching, as it is told to.
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { RateLimiter } from 'nestjs-floodgate';
import { Matching } from '../../matching/matching.js';
import type { MatchingStatistics } from '../../matching/matching-statistics.js';
import { boot } from '../../serve.js';
import { MATCHING, RIDE_HAILING } from '../../services.js';
import { answerCalls } from './answer-calls.js';
import { DecisionMeter } from './decision-meter.js';
import { PingMeter } from './ping-meter.js';
import { ProcessMeter, type ProcessUse } from './process-meter.js';

export interface ServiceUse extends ProcessUse {
  /** Times of the decisions that the guard had to wait for, and of PINGs beside them, as `allTimes` reads them. */
  readonly decisions: string;
  readonly pings: string | undefined;
  /** Decisions that Redis did not make in time. */
  readonly decidedLocally: number;
}

export interface OpenCall {
  readonly service: 'application' | 'matching';
  /** Its environment. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What the parent may ask. An alias, since an interface has no index signature. */
export type ServiceProcedures = {
  /** Starts a service on the loopback interface, with nothing left of the one before. @returns its port */
  readonly open: (call: OpenCall) => Promise<number>;
  readonly close: () => Promise<void>;
  /** Measures from here on: what happened before was to warm up. */
  readonly begin: () => void;
  readonly end: () => ServiceUse;
  /** Of matching. */
  readonly statistics: () => Promise<MatchingStatistics>;
};

const decisions = new DecisionMeter();
const meter = new ProcessMeter();
let app: INestApplication | undefined;
let service: OpenCall['service'];
let pings: PingMeter | undefined;
let locallyBefore = 0;

/** Of the matching service there are none. */
function decidedLocally(): number {
  return service === 'application' ? app!.get(RateLimiter, { strict: false }).stats().sources.local : 0;
}

answerCalls({
  open: async ({ service: asked, variables }) => {
    service = asked;
    app = await boot(service === 'matching' ? MATCHING : RIDE_HAILING, variables);
    if (variables['REDIS_URL'] !== undefined) pings = new PingMeter(variables['REDIS_URL']);
    return (app.getHttpServer() as { address(): AddressInfo }).address().port;
  },
  close: async () => {
    pings?.close();
    await app?.close();
    app = pings = undefined;
  },
  begin: () => {
    locallyBefore = decidedLocally();
    decisions.reset();
    pings?.reset();
    meter.begin();
  },
  end: () => ({
    ...meter.end(),
    decisions: decisions.encoded(),
    pings: pings?.encoded(),
    decidedLocally: decidedLocally() - locallyBefore,
  }),
  statistics: () => app!.get(Matching, { strict: false }).statistics(),
} satisfies ServiceProcedures);
